"""Pollers of one worker share an empty result."""

import asyncio
import contextlib

import pytest

from backend.data.events import Hub, Subscription
from backend.rpc import polls
from backend.rpc.polls import WorkerPoll, WorkerPolls
from reinforge.schemas.worker_api import CallMessage


async def stays() -> bool:
    return False


async def left() -> bool:
    return True


class Queue:
    def __init__(self) -> None:
        self.looks = 0
        self.waiting: list[CallMessage] = []

    async def take(self) -> CallMessage | None:
        self.looks += 1
        await asyncio.sleep(0)
        return self.waiting.pop() if self.waiting else None


def message(id: str) -> CallMessage:
    return CallMessage(id=id, kind="validate", payload={}, deadline_seconds=1.0)


def test_one_poller_looks_for_all() -> None:
    async def looks() -> None:
        queue, notified = Queue(), Subscription()
        poll = WorkerPoll(contextlib.nullcontext(notified))

        async def all_look() -> list[str]:
            answers = await asyncio.gather(*(poll.look(queue.take, stays) for _ in range(8)))
            return [answer.id for answer in answers if answer is not None]

        assert (await all_look(), queue.looks) == ([], 1)
        queue.waiting = [message("1"), message("2")]
        notified.set()
        assert sorted(await all_look()) == ["1", "2"]
        assert queue.looks == 4  # two calls and the empty queue behind them
        queue.waiting = [message("3")]
        notified.set()
        assert await poll.look(queue.take, left) is None
        assert await all_look() == ["3"]

    asyncio.run(looks())


def test_a_poller_that_is_cancelled_while_it_looks_leaves_the_queue_to_others() -> None:
    async def looks() -> None:
        queue, notified, stuck = Queue(), Subscription(), asyncio.Event()
        poll = WorkerPoll(contextlib.nullcontext(notified))
        assert await poll.look(queue.take, stays) is None
        notified.set()

        async def never() -> CallMessage | None:
            stuck.set()
            await asyncio.Event().wait()
            return None

        first = asyncio.create_task(poll.look(never, stays))
        await stuck.wait()
        queue.waiting = [message("1")]
        second = asyncio.create_task(poll.look(queue.take, stays))
        await asyncio.sleep(0)
        first.cancel()
        answer = await second
        assert answer is not None and answer.id == "1"

    asyncio.run(looks())


def test_an_empty_result_is_shared_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    async def looks() -> None:
        queue = Queue()
        poll = WorkerPoll(contextlib.nullcontext(Subscription()))
        for expected in (1, 1):
            await poll.look(queue.take, stays)
            assert queue.looks == expected
        monkeypatch.setattr(polls, "SHARED_SECONDS", 0.0)
        await poll.look(queue.take, stays)
        assert queue.looks == 2

    asyncio.run(looks())


def test_nothing_is_left_of_a_worker_without_pollers() -> None:
    hub = Hub("")
    worker_polls = WorkerPolls(hub)
    with worker_polls.of("a", ["sample", "validate"]) as (poll, _):
        with (
            worker_polls.of("a", ["validate", "sample"]) as (same, _),
            worker_polls.of("b", []) as (other, _),
        ):
            assert poll is same and poll is not other
        with worker_polls.of("a", ["sample", "validate"]) as (same, _):
            assert poll is same
    assert (worker_polls._polls, hub._topics) == ({}, {})
