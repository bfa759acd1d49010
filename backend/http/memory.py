"""Returns memory of large requests to the system.

Errors and requests form cycles that hold bodies. The collector is tuned to run rarely, and the C library keeps what was
freed: without this a burst of large requests would stay in memory.
"""

import asyncio
import ctypes
import gc
import os
from contextlib import suppress
from pathlib import Path

import anyio.to_thread

EVERY_SECONDS = 5.0
GROWTH_BYTES = 48 << 20
"""A collection costs milliseconds, and more with large requests under way: it runs after growth alone."""
_PAGE = os.sysconf("SC_PAGE_SIZE")


class MemoryReturn:
    def __init__(self) -> None:
        self._least = resident_bytes()

    async def run(self) -> None:
        while True:
            await asyncio.sleep(EVERY_SECONDS)
            await self.look()

    async def look(self) -> None:
        resident = resident_bytes()
        if resident < self._least + GROWTH_BYTES:
            self._least = min(self._least, resident)
            return
        gc.collect()
        await anyio.to_thread.run_sync(_trim)
        self._least = resident_bytes()


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE


def _trim() -> None:
    with suppress(OSError, AttributeError):  # a C library other than glibc
        ctypes.CDLL(None).malloc_trim(0)
