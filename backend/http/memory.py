"""Returns memory of large requests to the system: errors and requests form cycles, and the collector runs rarely."""

import asyncio
import gc

import anyio.to_thread

from reinforge.system.memory import resident_bytes, return_freed_memory

EVERY_SECONDS = 5.0
GROWTH_BYTES = 48 << 20
"""Growth of memory that starts a collection of young objects, which stops the server for milliseconds."""
REPEAT_LOOKS = (3, 9, 27)
"""Looks after the last growth at which a full collection runs."""


class MemoryReturn:
    def __init__(self) -> None:
        self._least = resident_bytes()
        self._looks = REPEAT_LOOKS[-1]

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
