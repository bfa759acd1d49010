"""The system-call filters, run by a small interpreter of classic BPF: the result of each call in each filter."""

import platform
import re
import resource
import struct
from pathlib import Path

import pytest

from worker.sandbox.jails import bpf
from worker.sandbox.limits import RLIMITS

ALLOW, KILL = "allow", "kill"
X86_64, I386 = 0xC000003E, 0x40000003
EXECVE, EXECVEAT, PTRACE, UNSHARE, MOUNT, MEMFD, BPF, IO_URING, USERFAULTFD, KEYCTL = (
    59, 322, 101, 272, 165, 319, 321, 425, 323, 250,
)  # fmt: skip
SETUID, CHMOD, UNLINK, RENAME, MKDIR, UTIMENSAT, TRUNCATE, PROCESS_VM_READV, SECCOMP, LANDLOCK = (
    105, 90, 87, 82, 83, 280, 76, 310, 317, 446,
)  # fmt: skip
SENDMSG, RECVMSG, RECVMMSG, SENDMMSG, TIMER_CREATE = 46, 47, 299, 307, 222
FORK_FLAGS, THREAD_FLAGS, NEW_USER = 0x01200011, 0x003D0F00, 0x10000000
OWN_PID = 4242

ZYGOTE = bpf.zygote_filter()
CHILD = bpf.child_filter().replace(struct.pack("<I", bpf.PID_HOLE), struct.pack("<I", OWN_PID))


def answer(program: bytes, number: int, *arguments: int, arch: int = X86_64) -> str | int:
    """Run a filter on one system call: "allow", "kill" or an errno."""
    data = struct.pack("<IIQ6Q", number, arch, 0, *(*arguments, 0, 0, 0, 0, 0, 0)[:6])
    accumulator, at = 0, 0
    while True:
        code, jump_true, jump_false, k = struct.unpack_from("<HBBI", program, 8 * at)
        at += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, k)
        elif code == 0x06:
            return ALLOW if k == 0x7FFF0000 else KILL if k == 0x80000000 else k & 0xFFFF
        else:
            holds = {0x15: accumulator == k, 0x35: accumulator >= k, 0x45: bool(accumulator & k)}[code]
            at += jump_true if holds else jump_false


def nr(name: str) -> int:
    return bpf.SYSCALLS[name]


@pytest.mark.parametrize("program", [ZYGOTE, CHILD], ids=["zygote", "child"])
@pytest.mark.parametrize(
    "number",
    [
        EXECVE, EXECVEAT, PTRACE, UNSHARE, MOUNT, MEMFD, BPF, IO_URING, USERFAULTFD, KEYCTL, SETUID, CHMOD, UNLINK,
        RENAME, MKDIR, UTIMENSAT, TRUNCATE, PROCESS_VM_READV, SECCOMP, LANDLOCK,
    ],
)  # fmt: skip
def test_neither_may(program: bytes, number: int) -> None:
    assert answer(program, number) == bpf.EPERM


@pytest.mark.parametrize("program", [ZYGOTE, CHILD], ids=["zygote", "child"])
def test_no_socket_of_any_family(program: bytes) -> None:
    assert {answer(program, nr("socket"), family, 1) for family in range(64)} == {bpf.EACCES}
    assert answer(program, nr("socketpair"), 40, 1) == bpf.EACCES


@pytest.mark.parametrize("program", [ZYGOTE, CHILD], ids=["zygote", "child"])
def test_pairs_of_stream_sockets_alone(program: bytes) -> None:
    flags = (0, bpf.SOCK_NONBLOCK, bpf.SOCK_CLOEXEC, bpf.SOCK_NONBLOCK | bpf.SOCK_CLOEXEC)
    allowed = {bpf.SOCK_STREAM | flag for flag in flags}
    for kind in (*range(16), *(kind | flag for kind in range(16) for flag in flags), 1 << 31 | 1):
        verdict = ALLOW if kind in allowed else bpf.EACCES
        assert answer(program, nr("socketpair"), bpf.AF_UNIX, kind) == verdict, kind


@pytest.mark.parametrize("program", [ZYGOTE, CHILD], ids=["zygote", "child"])
def test_no_message_has_an_address_or_a_descriptor(program: bytes) -> None:
    assert answer(program, nr("sendto"), 3, 4096, 1, 0, 0, 0) == ALLOW
    for address in (1, 0x7FFF_0000_0000, 0xFFFF_FFFF, 1 << 63):
        assert answer(program, nr("sendto"), 3, 4096, 1, 0, address, 110) == bpf.EPERM
    for number in (SENDMSG, RECVMSG, SENDMMSG, RECVMMSG):
        assert answer(program, number, 3, 4096, 0) == bpf.EPERM


@pytest.mark.parametrize("program", [ZYGOTE, CHILD], ids=["zygote", "child"])
def test_no_timer_outlives_its_row(program: bytes) -> None:
    assert answer(program, TIMER_CREATE, 1, 0, 4096) == bpf.EPERM


def test_every_limit_of_the_kernel_is_set_or_left_out_for_a_reason() -> None:
    bounded_by_another = {"DATA", "RSS", "RTTIME"}
    names = {name.removeprefix("RLIMIT_") for name in dir(resource) if name.startswith("RLIMIT_")} - {"OFILE"}
    assert {*RLIMITS} | bounded_by_another == names
    assert len(names) == 15  # as many as the kernel has, but LOCKS, which it ignores
    if (limits := Path("/proc/self/limits")).exists():
        assert len(limits.read_text().splitlines()) - 1 == len(names) + 1


@pytest.mark.skipif(
    not (headers := list(Path("/usr/include").glob("**/asm/unistd_64.h"))), reason="no headers"
)
def test_the_table_of_calls_is_the_kernels() -> None:
    numbers = dict(re.findall(r"#define __NR_(\w+) (\d+)", headers[0].read_text()))
    assert {name: int(numbers[name]) for name in bpf.SYSCALLS} == bpf.SYSCALLS


@pytest.mark.parametrize("program", [ZYGOTE, CHILD], ids=["zygote", "child"])
def test_other_abis_and_unknown_calls(program: bytes) -> None:
    assert answer(program, nr("read"), arch=I386) == KILL
    assert answer(program, 0x40000000 + nr("read")) == bpf.ENOSYS
    assert answer(program, bpf.NEWEST_SYSCALL + 1) == bpf.ENOSYS
    assert answer(program, nr("clone3")) == bpf.ENOSYS


def test_only_the_zygote_makes_processes_and_nobody_threads_or_namespaces() -> None:
    assert answer(ZYGOTE, nr("clone"), FORK_FLAGS) == ALLOW
    assert answer(ZYGOTE, nr("fork")) == ALLOW
    assert answer(CHILD, nr("clone"), FORK_FLAGS) == bpf.EPERM
    assert answer(CHILD, nr("fork")) == bpf.EPERM
    for program in (ZYGOTE, CHILD):
        assert answer(program, nr("clone"), THREAD_FLAGS) == bpf.EPERM
        assert answer(program, nr("clone"), NEW_USER) == bpf.EPERM


def test_a_child_signals_nobody_but_itself() -> None:
    for name in ("kill", "tgkill"):
        assert answer(CHILD, nr(name), OWN_PID, 9) == ALLOW
        for other in (0, 1, OWN_PID + 1, 0xFFFFFFFF, (1 << 64) - 1):
            assert answer(CHILD, nr(name), other, 9) == bpf.EPERM


def test_a_child_changes_neither_limits_of_others_nor_its_own_restrictions() -> None:
    assert answer(CHILD, nr("prlimit64"), 0) == ALLOW
    assert answer(CHILD, nr("prlimit64"), OWN_PID + 1) == bpf.EPERM
    assert answer(CHILD, nr("setrlimit")) == bpf.EPERM
    for option in (1, 4, 22, 38):  # PDEATHSIG, DUMPABLE, SECCOMP, NO_NEW_PRIVS
        assert answer(CHILD, nr("prctl"), option) == bpf.EPERM


def test_only_plain_file_controls() -> None:
    lock, set_owner, set_pipe_size, terminal_input = 6, 8, 1031, 0x5412
    for command in (lock, set_owner, set_pipe_size):
        assert answer(CHILD, nr("fcntl"), 0, command) == bpf.EPERM
    assert answer(CHILD, nr("ioctl"), 0, terminal_input) == bpf.ENOTTY
    assert answer(CHILD, nr("ioctl"), 0, 0x5401) == ALLOW


def test_the_child_may_do_less_than_the_zygote() -> None:
    for number in range(bpf.NEWEST_SYSCALL + 1):
        if answer(CHILD, number, OWN_PID) == ALLOW:
            assert answer(ZYGOTE, number, OWN_PID) == ALLOW


def test_another_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert "riscv64" in (bpf.unsupported() or "")


@pytest.mark.parametrize("name", sorted(bpf.OF_A_PROCESS))
def test_a_child_asks_about_no_process_but_itself(name: str) -> None:
    number = nr(name)
    assert [answer(CHILD, number, pid) for pid in (0, OWN_PID)] == [ALLOW, ALLOW]
    assert {answer(CHILD, number, pid) for pid in (1, OWN_PID + 1, 0xFFFF_FFFF)} == {bpf.EPERM}


def test_a_child_asks_for_no_priority_but_its_own() -> None:
    number = nr("getpriority")
    assert [answer(CHILD, number, 0, who) for who in (0, OWN_PID)] == [ALLOW, ALLOW]
    assert {answer(CHILD, number, which, who) for which in range(4) for who in (0, 1) if which or who} == {
        bpf.EPERM
    }
