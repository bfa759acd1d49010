"""Protocol of a serving engine, which the loop calls from one thread."""

from collections.abc import Callable, Collection
from typing import Any, Protocol

from worker.serving_client.protocol import Order

Event = dict[str, Any]
Say = Callable[[str], None]


def prompt_event(order: Order, number: int, tokens: int) -> Event:
    notation = {} if order.notation is None else {"notation": order.notation}
    return {"type": "prompt", "prompt": number, "tokens": tokens, **notation}


class OrderRun(Protocol):
    @property
    def order(self) -> Order: ...

    @property
    def finished(self) -> bool: ...

    def step(self) -> None: ...

    def take_events(self) -> list[Event]: ...

    def close(self) -> None: ...


class Engine(Protocol):
    def fits(self, order: Order) -> bool: ...

    def start(self, order: Order, in_use: Collection[str | None], say: Say) -> OrderRun:
        """Load what is missing and begin; adapters not `in_use` may be evicted."""

    def relieve(self) -> None: ...
