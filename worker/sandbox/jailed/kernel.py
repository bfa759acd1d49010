"""Kernel interfaces that Python lacks: prctl, seccomp and Landlock. Every function raises ``OSError``."""

import ctypes
import os
import resource
import signal
import stat
import struct
from collections.abc import Mapping, Sequence
from mmap import mmap

_libc = ctypes.CDLL(None, use_errno=True)

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
_SECCOMP_MODE_FILTER = 2
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_RULE_PATH_BENEATH = 1
_FS_WRITE_FILE, _FS_READ_FILE, _FS_READ_DIR = 1 << 1, 1 << 2, 1 << 3
_HANDLED_FS = {3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
_HANDLED_NET = 0b11
"""TCP bind and connect (Landlock ABI 4)."""
_SCOPED = 0b11
"""Abstract Unix sockets and signals (Landlock ABI 6)."""

_FINE_ENOUGH = 1 << 20

LANDLOCK_MINIMUM = 3
"""Oldest accepted ABI of Landlock: 1 and 2 cannot deny truncation."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def landlock_abi() -> int:
    version: int = _libc.syscall(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1)
    return max(version, 0)


def die_with_parent(parent: int) -> None:
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def forbid_inspection() -> None:
    _prctl(_PR_SET_DUMPABLE, 0)


def install_filter(program: bytes) -> None:
    buffer = ctypes.create_string_buffer(program, len(program))
    header = _Program(len(program) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(header))


def restrict_paths(readable: Sequence[str]) -> None:
    """Restrict this process with Landlock to reading below ``readable``."""
    abi = landlock_abi()
    if abi < LANDLOCK_MINIMUM:
        raise OSError(f"Landlock ABI {LANDLOCK_MINIMUM} is needed, the kernel has {abi}")
    fields = [_HANDLED_FS[min(abi, 5)]]
    if abi >= 4:
        fields.append(_HANDLED_NET)
    if abi >= 6:
        fields.append(_SCOPED)
    attributes = struct.pack(f"<{len(fields)}Q", *fields)
    ruleset = _syscall("landlock_create_ruleset", _LANDLOCK_CREATE, attributes, len(attributes), 0)
    try:
        for path in readable:
            _allow(ruleset, path, _FS_READ_FILE | _FS_READ_DIR)
        _allow(ruleset, "/dev/null", _FS_READ_FILE | _FS_WRITE_FILE)
        _allow(ruleset, "/dev/urandom", _FS_READ_FILE)
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)
        _syscall("landlock_restrict_self", _LANDLOCK_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)


def apply_rlimits(limits: Mapping[str, int]) -> None:
    for name, value in limits.items():
        which: int = getattr(resource, f"RLIMIT_{name}")
        ceiling = resource.getrlimit(which)[1]
        value = value if ceiling == resource.RLIM_INFINITY else min(value, ceiling)
        # one second between SIGXCPU and SIGKILL, so that the end can be told from a crash
        hard = (
            value + 1 if name == "CPU" and (ceiling == resource.RLIM_INFINITY or value < ceiling) else value
        )
        resource.setrlimit(which, (value, hard))


def address_space() -> int:
    limits = resource.getrlimit(resource.RLIMIT_AS)
    low, high = 0, 1 << 47
    while high - low > _FINE_ENOUGH:
        middle = (low + high) // 2
        resource.setrlimit(resource.RLIMIT_AS, (middle, limits[1]))
        try:
            mmap(-1, _FINE_ENOUGH).close()
            high = middle
        except OSError:
            low = middle
        finally:
            resource.setrlimit(resource.RLIMIT_AS, limits)
    return high


def _allow(ruleset: int, path: str, access: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            access &= _FS_READ_FILE | _FS_WRITE_FILE
        rule = struct.pack("<Qi", access, descriptor)
        _syscall(f"landlock_add_rule for {path}", _LANDLOCK_ADD, ruleset, _RULE_PATH_BENEATH, rule, 0)
    finally:
        os.close(descriptor)


def _syscall(what: str, number: int, *arguments: int | bytes) -> int:
    words = [ctypes.c_long(a) if isinstance(a, int) else ctypes.c_char_p(a) for a in arguments]
    result: int = _libc.syscall(ctypes.c_long(number), *words)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def _prctl(option: int, *arguments: int) -> None:
    words = [ctypes.c_ulong(a) for a in (*arguments, 0, 0, 0, 0)[:4]]
    if _libc.prctl(ctypes.c_int(option), *words) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"prctl {option}: {os.strerror(code)}")
