"""Return of memory to the system after large requests, whose reference cycles the garbage collector rarely
frees.

A collection stops the event loop and all requests, so each collection should examine few objects.
"""

import asyncio
import gc

import anyio.to_thread

from reinforge.system.memory import resident_bytes, return_freed_memory, return_large_blocks_at_once

YOUNG_OBJECTS = 5_000
"""Number of new objects that starts a collection. With 50,000, a collection took 40 to 70 ms, mostly to free
requests in cycles.
"""
EVERY_SECONDS = 5.0
WARM_LOOKS = (2, 12)
"""Numbers of checks after which all objects are frozen: routes, statements and caches that stay exist by
then.
"""
GROWTH_BYTES = 48 << 20
"""Growth in bytes that starts a collection of young objects. That takes milliseconds; a full collection
during large requests takes tenths of a second.
"""
FULL_GROWTH_BYTES = 256 << 20
"""Growth in bytes that starts a full collection, even during a burst of requests."""
REPEAT_LOOKS = (2, 6, 24)
"""Numbers of checks after the last growth at which a full collection runs: the requests of a burst have ended
by then.
"""


def prepare_server() -> None:
    """Call once, after the application is created."""
    return_large_blocks_at_once()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, 20, 50)


class MemoryReturn:
    def __init__(self) -> None:
        self._least = self._least_full = resident_bytes()
        self._looks = REPEAT_LOOKS[-1]
        """Number of checks since the last growth."""

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
