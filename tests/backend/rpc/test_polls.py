"""Pollers of one worker share what they see."""

import asyncio
import contextlib

from backend.data.events import Subscription
from backend.rpc.polls import WorkerPoll
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
