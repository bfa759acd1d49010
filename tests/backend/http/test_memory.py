"""Memory of large requests goes back to the system."""

import asyncio
import gc
import subprocess
import sys
from collections.abc import Iterator

import pytest

from backend.http import memory as server_memory
from backend.http.memory import REPEAT_LOOKS, WARM_LOOKS, MemoryReturn
from reinforge.system.memory import LARGE_BYTES, resident_bytes

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


def test_large_blocks_go_back_when_they_are_freed() -> None:
    """Without the setting of the allocator, freeing a larger block first makes these part of the heap."""
    code = f"""
from backend.http.memory import prepare_server
from reinforge.system.memory import resident_bytes
prepare_server()
before = resident_bytes()
freed_first = bytes(16 << 20)
del freed_first
bodies, small = [], []
for _ in range(200):
    bodies.append(bytearray({2 * LARGE_BYTES}))
    small.append(bytes(2000))
held = resident_bytes() - before
del bodies
print(held >> 20, resident_bytes() - before >> 20)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    held, after = map(int, run.stdout.split())
    assert held > 90
    assert after < 16


def test_a_collection_looks_at_few_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """A collection of 50,000 objects stops every request for some 50 ms, a full one of a whole server for longer."""
    threshold, frozen = gc.get_threshold(), gc.get_freeze_count()
    monkeypatch.setattr(server_memory, "return_large_blocks_at_once", lambda: None)
    monkeypatch.setattr(server_memory, "EVERY_SECONDS", 0.0)
    looks = 0

    async def look(self: MemoryReturn) -> None:
        nonlocal looks
        looks += 1
        self._looks += 1
        if looks > WARM_LOOKS[0]:
            raise TimeoutError

    monkeypatch.setattr(MemoryReturn, "look", look)
    try:
        server_memory.prepare_server()
        assert gc.get_threshold()[0] <= 5_000
        made_by_first_requests = [[] for _ in range(1_000)]  # type: list[list[int]]
        with pytest.raises(TimeoutError):
            asyncio.run(MemoryReturn().run())
        assert gc.get_freeze_count() > frozen + 1_000
        old = gc.get_objects(generation=2)
        assert len(old) < 1_000
        del made_by_first_requests, old
    finally:
        gc.set_threshold(*threshold)
        gc.unfreeze()
