"""Slow work of this process: in turns by project, with few of one project in line."""

import asyncio

import pytest

from backend.access.work_slots import FairSlots
from reinforge.errors import TooManyRequests


class Line:
    """Pieces of work, named by project and number, that end when the test says so."""

    def __init__(self, places: int, waiting: int) -> None:
        self.turns, self.begun = FairSlots(places, waiting), list[str]()
        self.ends: dict[str, asyncio.Event] = {}

    def add(self, *names: str) -> list[asyncio.Task[None]]:
        return [asyncio.create_task(self.work(name)) for name in names]

    async def work(self, name: str) -> None:
        self.ends[name] = asyncio.Event()
        async with self.turns.turn(name[0]):
            self.begun.append(name)
            await self.ends[name].wait()

    def end(self, *names: str) -> None:
        for name in names or list(self.ends):
            self.ends[name].set()


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_one_project_leaves_a_place_and_projects_alternate() -> None:
    async def test() -> None:
        line = Line(places=2, waiting=10)
        tasks = line.add("a1", "a2", "a3", "b1", "b2")
        await settled()
        assert line.begun == ["a1", "b1"]
        line.end("a1")
        await settled()
        line.end("b1")
        await settled()
        assert line.begun == ["a1", "b1", "a2", "b2"]
        line.end()
        await asyncio.gather(*tasks)
        assert line.begun[-1] == "a3"

    asyncio.run(test())


def test_who_gives_up_holds_no_place() -> None:
    async def test() -> None:
        line = Line(places=1, waiting=10)
        tasks = line.add("a1", "a2", "b1")
        await settled()
        tasks[1].cancel()
        tasks[0].cancel()
        await settled()
        assert line.begun == ["a1", "b1"]
        line.end("b1")
        await tasks[2]
        [last] = line.add("a3")
        await settled()
        line.end("a3")
        await last

    asyncio.run(test())


def test_few_of_one_project_wait() -> None:
    async def test() -> None:
        line = Line(places=1, waiting=2)
        tasks = line.add("a1", "a2", "a3")
        await settled()
        with pytest.raises(TooManyRequests):
            await line.work("a4")
        tasks += line.add("b1")
        await settled()
        line.end()
        await asyncio.gather(*tasks)
        assert sorted(line.begun) == ["a1", "a2", "a3", "b1"]

    asyncio.run(test())
