"""Memory of large requests goes back to the system."""

import asyncio
import gc

from backend.http.memory import MemoryReturn, resident_bytes

MIB = 1 << 20


class Holder:
    """As an error that refers to its frame, which refers to the error."""

    def __init__(self) -> None:
        self.itself = self
        self.body = [bytes(16_000) for _ in range(6_000)]


def test_bodies_that_cycles_hold_are_returned() -> None:
    enabled = gc.isenabled()
    gc.disable()  # as good as: the server's thresholds are that high
    try:
        memory = MemoryReturn()
        before = resident_bytes()
        Holder()
        assert resident_bytes() > before + 64 * MIB
        asyncio.run(memory.look())
        assert resident_bytes() < before + 32 * MIB
    finally:
        if enabled:
            gc.enable()
