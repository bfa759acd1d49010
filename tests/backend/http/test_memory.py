"""Memory of large requests goes back to the system."""

import asyncio
import gc
from collections.abc import Iterator

import pytest

from backend.http.memory import REPEAT_LOOKS, MemoryReturn
from reinforge.system.memory import resident_bytes

MIB = 1 << 20


class Holder:
    """As an error that refers to its frame, which refers to the error."""

    def __init__(self) -> None:
        self.itself = self
        self.body = [bytes(16_000) for _ in range(6_000)]


@pytest.fixture
def _no_collector() -> Iterator[None]:
    """As good as: the server's thresholds are that high."""
    enabled = gc.isenabled()
    gc.disable()
    yield
    if enabled:
        gc.enable()


@pytest.mark.usefixtures("_no_collector")
def test_bodies_that_cycles_hold_are_returned() -> None:
    memory = MemoryReturn()
    before = resident_bytes()
    Holder()
    assert resident_bytes() > before + 64 * MIB
    asyncio.run(memory.look())
    assert resident_bytes() < before + 32 * MIB


@pytest.mark.usefixtures("_no_collector")
def test_what_a_burst_held_at_first_is_returned_after_it() -> None:
    memory = MemoryReturn()
    before = resident_bytes()
    under_way = Holder()
    asyncio.run(memory.look())
    assert resident_bytes() > before + 64 * MIB
    del under_way
    for _ in range(max(REPEAT_LOOKS)):
        asyncio.run(memory.look())
    assert resident_bytes() < before + 32 * MIB


@pytest.mark.usefixtures("_no_collector")
def test_a_burst_that_does_not_end_is_bounded() -> None:
    """Old objects in cycles wait for the end of a burst, but not for ever."""
    memory = MemoryReturn()
    before = resident_bytes()
    for _ in range(6):
        holder = Holder()
        gc.collect(1)  # as long as it is used, it becomes old
        del holder
        asyncio.run(memory.look())
    assert resident_bytes() < before + (300 << 20)
