"""Resident memory of this process, and the return of freed memory to the system."""

import ctypes
import os
from contextlib import suppress
from pathlib import Path

LARGE_BYTES = 256 << 10
_PAGE = os.sysconf("SC_PAGE_SIZE")
_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8  # of glibc's malloc.h
_ARENAS = 2


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE


def return_large_blocks_at_once() -> None:
    """Let glibc map blocks of at least LARGE_BYTES separately, to return them when freed, and use two heaps.

    By default glibc raises this threshold up to 32 MiB; small blocks then keep large freed ones resident.
    """
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES)
        libc.mallopt(_M_ARENA_MAX, _ARENAS)


def return_freed_memory() -> None:
    """Return freed memory to the system with glibc, which takes milliseconds."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
