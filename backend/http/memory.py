"""Returns memory of large requests to the system: errors and requests form cycles, and the collector runs rarely.

A collection stops the event loop, and with it everybody's requests: few objects may be looked at in one.
"""

import asyncio
import gc

import anyio.to_thread

from reinforge.system.memory import resident_bytes, return_freed_memory, return_large_blocks_at_once

YOUNG_OBJECTS = 5_000
"""New objects that start a collection: 50,000 took 40 to 70 ms, most of it for freeing requests in cycles."""
EVERY_SECONDS = 5.0
WARM_LOOKS = (2, 12)
"""Looks after the start at which routes, statements and caches have been made: what is there then stays."""
GROWTH_BYTES = 48 << 20
"""A collection stops the server for milliseconds, a full one with large requests under way for tenths of a second:
growth alone starts it, and only of objects that are young."""
FULL_GROWTH_BYTES = 256 << 20
"""Growth that starts a full collection, however long a burst lasts."""
REPEAT_LOOKS = (2, 6, 24)
"""Looks after the last growth at which a full one runs: what requests of a burst held is free when they are over."""


def prepare_server() -> None:
    """Once, when the application is there: set up the collector and the allocator for short stops."""
    return_large_blocks_at_once()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, 20, 50)


class MemoryReturn:
    def __init__(self) -> None:
        self._least = self._least_full = resident_bytes()
        self._looks = REPEAT_LOOKS[-1]
        """Since the last growth."""

    async def run(self) -> None:
        looks = 0
        while True:
            await asyncio.sleep(EVERY_SECONDS)
            looks += 1
            await self.look()
            if looks in WARM_LOOKS and self._looks > 0:
                gc.collect()
                gc.freeze()

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
