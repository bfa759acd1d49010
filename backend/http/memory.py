"""Returns memory of large requests to the system.

Errors and requests form cycles that hold bodies. The collector is tuned to run rarely, and the C library keeps what was
freed: without this a burst of large requests would stay in memory.
"""

import asyncio
import gc

import anyio.to_thread

from reinforge.system.memory import resident_bytes, return_freed_memory

EVERY_SECONDS = 5.0
GROWTH_BYTES = 48 << 20
"""A collection stops the server for milliseconds, a full one with large requests under way for tenths of a second:
growth alone starts it, and only of objects that are young."""
REPEAT_LOOKS = (3, 9, 27)
"""Looks after the last growth at which a full one runs: what requests of a burst held is free when they are over."""


class MemoryReturn:
    def __init__(self) -> None:
        self._least = resident_bytes()
        self._looks = REPEAT_LOOKS[-1]
        """Since the last growth."""

    async def run(self) -> None:
        while True:
            await asyncio.sleep(EVERY_SECONDS)
            await self.look()

    async def look(self) -> None:
        resident = resident_bytes()
        self._looks += 1
        if resident >= self._least + GROWTH_BYTES:
            self._looks = 0
        elif self._looks not in REPEAT_LOOKS:
            self._least = min(self._least, resident)
            return
        gc.collect(1 if self._looks == 0 else 2)
        await anyio.to_thread.run_sync(return_freed_memory)
        self._least = resident_bytes()
