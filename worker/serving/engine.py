"""What the serving process needs from an engine: one that computes here, or one that asks a server of its own.

The loop (`worker.serving.server`) calls it from one thread. `step` may be short, but it must not wait for one run
alone: the others have their turn after it.
"""

from collections.abc import Callable, Collection
from typing import Any, Protocol

from worker.serving_client.protocol import Order

Event = dict[str, Any]
"""As `reinforge.schemas.playground.SampleEvent` has it: `prompt`, `delta`, `done`."""
Say = Callable[[str], None]
"""Tells people what is happening before the first token."""


class Run(Protocol):
    """An order that is being carried out."""

    @property
    def order(self) -> Order: ...

    @property
    def finished(self) -> bool: ...

    def step(self) -> None:
        """Go on by about one token."""

    def take_events(self) -> list[Event]:
        """What has happened since the last call."""

    def close(self) -> None:
        """Let go of it, finished or not."""


class Engine(Protocol):
    """Base models with adapters over them, loaded when an order needs them."""

    def fits(self, order: Order) -> bool:
        """Whether the order can start beside those that run now."""

    def start(self, order: Order, in_use: Collection[str | None], say: Say) -> Run:
        """Load what is missing and begin. Adapters that are `in_use` stay; others go, the least recently used first.

        Raises JobFailure `model_load_failed`, `invalid_adapter`, and what a lack of memory raises; whatever was
        half loaded is gone then.
        """

    def relieve(self) -> None:
        """Give back memory that is merely cached, after a lack of it."""
