"""Protocol of a serving engine.

The loop calls it from one thread: `step` must not wait for one run alone.
"""

from collections.abc import Callable, Collection
from typing import Any, Protocol

from worker.serving_client.protocol import Order

Event = dict[str, Any]
"""As `reinforge.schemas.playground.SampleEvent`."""
Say = Callable[[str], None]
"""Reports progress before the first token."""


class OrderRun(Protocol):
    @property
    def order(self) -> Order: ...

    @property
    def finished(self) -> bool: ...

    def step(self) -> None:
        """Advance by about one token."""

    def take_events(self) -> list[Event]:
        """Events since the last call."""

    def close(self) -> None:
        """Release it, finished or not."""


class Engine(Protocol):
    def fits(self, order: Order) -> bool:
        """Whether the order can start beside the running ones."""

    def start(self, order: Order, in_use: Collection[str | None], say: Say) -> OrderRun:
        """Load what is missing and begin; adapters not `in_use` may be evicted.

        Raises JobFailure `model_load_failed`, `invalid_adapter`, and out-of-memory errors; partial
        loads are released.
        """

    def relieve(self) -> None:
        """Free cached memory after an out-of-memory error."""
