"""The two seccomp filters of the jails, assembled as classic BPF.

Both are allow-lists for x86-64: other calls fail with EPERM, unknown ones with ENOSYS (so that libc falls back),
and the 32-bit ABI kills the process. No call takes a socket's address or passes a descriptor, since Landlock
does not cover Unix sockets.

* :func:`zygote_filter`: fork and wait, no exec, socket or namespace.
* :func:`child_filter`: signals reach only the child itself (its pid replaces :data:`PID_HOLE`).
"""

import platform
import struct

SYSCALLS: dict[str, int] = {
    "read": 0, "write": 1, "open": 2, "close": 3, "stat": 4, "fstat": 5, "lstat": 6, "poll": 7, "lseek": 8,
    "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14,
    "rt_sigreturn": 15, "ioctl": 16, "pread64": 17, "pwrite64": 18, "readv": 19, "writev": 20,
    "access": 21, "pipe": 22, "select": 23, "sched_yield": 24, "mremap": 25, "madvise": 28, "dup": 32,
    "dup2": 33, "pause": 34, "nanosleep": 35, "getitimer": 36, "alarm": 37, "setitimer": 38, "getpid": 39,
    "socket": 41, "sendto": 44, "recvfrom": 45, "shutdown": 48,
    "getsockname": 51, "socketpair": 53, "getsockopt": 55, "clone": 56, "fork": 57, "exit": 60,
    "wait4": 61, "kill": 62, "uname": 63, "fcntl": 72, "fsync": 74, "fdatasync": 75, "ftruncate": 77,
    "getcwd": 79, "readlink": 89, "umask": 95, "gettimeofday": 96, "getrlimit": 97, "getrusage": 98,
    "sysinfo": 99, "times": 100, "getuid": 102, "getgid": 104, "geteuid": 107, "getegid": 108,
    "getppid": 110, "getpgrp": 111, "getgroups": 115, "getresuid": 118, "getresgid": 120, "getpgid": 121,
    "getsid": 124, "rt_sigpending": 127, "rt_sigtimedwait": 128, "rt_sigsuspend": 130, "sigaltstack": 131,
    "getpriority": 140, "sched_getparam": 143, "sched_getscheduler": 145, "sched_get_priority_max": 146,
    "sched_get_priority_min": 147, "prctl": 157, "arch_prctl": 158, "setrlimit": 160, "gettid": 186,
    "time": 201, "futex": 202, "sched_getaffinity": 204, "getdents64": 217, "set_tid_address": 218,
    "restart_syscall": 219, "fadvise64": 221, "clock_gettime": 228, "clock_getres": 229,
    "clock_nanosleep": 230, "exit_group": 231, "epoll_wait": 232, "epoll_ctl": 233, "tgkill": 234,
    "waitid": 247, "openat": 257, "newfstatat": 262, "readlinkat": 267, "faccessat": 269, "pselect6": 270,
    "ppoll": 271, "set_robust_list": 273, "get_robust_list": 274, "epoll_pwait": 281,
    "timerfd_create": 283, "timerfd_settime": 286, "eventfd2": 290, "epoll_create1": 291, "dup3": 292,
    "pipe2": 293, "preadv": 295, "pwritev": 296, "prlimit64": 302, "getcpu": 309, "getrandom": 318,
    "membarrier": 324, "statx": 332, "rseq": 334, "pidfd_open": 434, "clone3": 435, "close_range": 436,
    "faccessat2": 439,
}  # fmt: skip
NEWEST_SYSCALL = 450

INSPECTED = {
    "clone",
    "clone3",
    "socket",
    "socketpair",
    "sendto",
    "ioctl",
    "fcntl",
    "prctl",
    "prlimit64",
    "kill",
    "tgkill",
}
ZYGOTE_ONLY = {"fork", "pidfd_open", "setrlimit"}
OF_A_PROCESS = {
    "getpgid",
    "getsid",
    "sched_getparam",
    "sched_getscheduler",
    "sched_getaffinity",
    "get_robust_list",
}

PID_HOLE = 0x7EADBEEF

EPERM, EACCES, ENOTTY, ENOSYS = 1, 13, 25, 38
PRIO_PROCESS = 0
AF_UNIX = 1
SOCK_STREAM, SOCK_DGRAM, SOCK_NONBLOCK, SOCK_CLOEXEC = 1, 2, 0x800, 0x80000
_STREAMS = tuple(
    SOCK_STREAM | flags for flags in (0, SOCK_NONBLOCK, SOCK_CLOEXEC, SOCK_NONBLOCK | SOCK_CLOEXEC)
)
CLONE_THREAD = 0x00010000
CLONE_NAMESPACES = 0x7E020080
"""NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET and NEWTIME."""

_AUDIT_ARCH_X86_64 = 0xC000003E
_X32_BIT = 0x40000000
_LOAD, _JEQ, _JGE, _JSET, _RET = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL_PROCESS = 0x7FFF0000, 0x80000000

_TERMINAL_QUERIES = (0x5401, 0x541B, 0x5421, 0x5451, 0x5450, 0x5413)
"""TCGETS, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX, TIOCGWINSZ: no TIOCSTI, no FIOASYNC."""
_FCNTL_PLAIN = (0, 1, 2, 3, 4, 1030)
"""DUPFD, GETFD, SETFD, GETFL, SETFL, DUPFD_CLOEXEC: no locks, leases, owners or pipe sizes."""
_PRCTL_ZYGOTE = (1, 3, 4, 15, 16, 22, 38)
"""PDEATHSIG, GET/SET_DUMPABLE, SET/GET_NAME, SECCOMP, NO_NEW_PRIVS."""
_PRCTL_CHILD = (3, 15, 16)

Code = list[bytes]


def unsupported() -> str | None:
    if platform.machine() != "x86_64":
        return f"the system-call filter supports only x86_64, but this machine is {platform.machine()}"
    return None


def zygote_filter() -> bytes:
    rules = {
        **_common_rules(),
        "clone": [
            *_load_arg(0),
            _op(_JSET, CLONE_NAMESPACES | CLONE_THREAD, 0, 1),
            _errno(EPERM),
            _op(_RET, _ALLOW),
        ],
        "prctl": _allow_values(0, _PRCTL_ZYGOTE),
        "kill": [_op(_RET, _ALLOW)],
        "tgkill": [_op(_RET, _ALLOW)],
    }
    return _assemble(SYSCALLS.keys() - INSPECTED, rules)


def child_filter() -> bytes:
    rules = {
        **_common_rules(),
        "prctl": _allow_values(0, _PRCTL_CHILD),
        "kill": _allow_values(0, (PID_HOLE,)),
        "tgkill": _allow_values(0, (PID_HOLE,)),
        **{name: _allow_values(0, (0, PID_HOLE)) for name in OF_A_PROCESS},
        "getpriority": [
            *_load_arg(0),
            _op(_JEQ, PRIO_PROCESS, 1, 0),
            _errno(EPERM),
            *_allow_values(1, (0, PID_HOLE)),
        ],
    }
    return _assemble(SYSCALLS.keys() - INSPECTED - ZYGOTE_ONLY - rules.keys(), rules)


def _op(code: int, k: int, jump_true: int = 0, jump_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, jump_true, jump_false, k & 0xFFFFFFFF)


def _errno(number: int) -> bytes:
    return _op(_RET, 0x00050000 | number)


def _load_arg(index: int) -> Code:
    """Load an argument's low 32 bits: the kernel reads it as an int."""
    return [_op(_LOAD, 16 + 8 * index)]


def _allow_values(index: int, values: tuple[int, ...], error: int = EPERM) -> Code:
    code = _load_arg(index)
    for value in values:
        code += [_op(_JEQ, value, 0, 1), _op(_RET, _ALLOW)]
    return [*code, _errno(error)]


def _allow_null(index: int) -> Code:
    halves = [_op(_LOAD, 16 + 8 * index), _op(_LOAD, 20 + 8 * index)]
    return [
        *(op for half in halves for op in (half, _op(_JEQ, 0, 1, 0), _errno(EPERM))),
        _op(_RET, _ALLOW),
    ]


def _common_rules() -> dict[str, Code]:
    return {
        "clone3": [
            _errno(ENOSYS)
        ],  # its flags lie in memory, out of a filter's sight: libc falls back to clone
        "socket": [_errno(EACCES)],  # no family at all: AF_VSOCK and AF_ALG are not covered by anything else
        # asyncio wakes its loop with a pair. A pair of datagram sockets could send to any path of the host.
        "socketpair": [
            *_load_arg(0),
            _op(_JEQ, AF_UNIX, 1, 0),
            _errno(EACCES),
            *_allow_values(1, _STREAMS, EACCES),
        ],
        # `send` is a `sendto` without an address. There is no sendmsg or recvmsg: they pass descriptors.
        "sendto": _allow_null(4),
        "ioctl": _allow_values(1, _TERMINAL_QUERIES, ENOTTY),
        "fcntl": _allow_values(1, _FCNTL_PLAIN),
        "prlimit64": _allow_values(0, (0,)),
    }


def _assemble(allowed: set[str], rules: dict[str, Code]) -> bytes:
    program = [
        _op(_LOAD, 4), _op(_JEQ, _AUDIT_ARCH_X86_64, 1, 0), _op(_RET, _KILL_PROCESS),
        _op(_LOAD, 0), _op(_JGE, _X32_BIT, 0, 1), _errno(ENOSYS),
        _op(_JGE, NEWEST_SYSCALL + 1, 0, 1), _errno(ENOSYS),
    ]  # fmt: skip
    for name, body in rules.items():
        program += [_op(_JEQ, SYSCALLS[name], 0, len(body)), *body]
    for name in sorted(allowed, key=SYSCALLS.__getitem__):
        program += [_op(_JEQ, SYSCALLS[name], 0, 1), _op(_RET, _ALLOW)]
    program.append(_errno(EPERM))
    return b"".join(program)
