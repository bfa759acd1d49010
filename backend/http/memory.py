"""Returns memory of large requests to the system: errors and requests form cycles, and the collector runs rarely."""

import asyncio
import gc

import anyio.to_thread

from reinforge.system.memory import resident_bytes, return_freed_memory

EVERY_SECONDS = 5.0
GROWTH_BYTES = 48 << 20
"""A collection stops the server for milliseconds, a full one with large requests under way for tenths of a second:
growth alone starts it, and only of objects that are young."""
FULL_GROWTH_BYTES = 256 << 20
"""Growth that starts a full collection, however long a burst lasts."""
REPEAT_LOOKS = (2, 6, 24)
"""Looks after the last growth at which a full one runs: what requests of a burst held is free when they are over."""


class MemoryReturn:
    def __init__(self) -> None:
        self._least = self._least_full = resident_bytes()
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
        full = self._looks > 0 or resident >= self._least_full + FULL_GROWTH_BYTES
        gc.collect(2 if full else 1)
        await anyio.to_thread.run_sync(return_freed_memory)
        self._least = resident_bytes()
        if full:
            self._least_full = self._least
