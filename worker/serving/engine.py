"""Protocol of a serving engine, which `ServingServer` calls from one thread."""

from collections.abc import Callable, Collection
from typing import Any, Protocol

from worker.serving_client.protocol import ServingRequest

Event = dict[str, Any]
Say = Callable[[str], None]


def prompt_event(request: ServingRequest, number: int, tokens: int) -> Event:
    notation = {} if request.notation is None else {"notation": request.notation}
    return {"type": "prompt", "prompt": number, "tokens": tokens, **notation}


class RequestRun(Protocol):
    @property
    def request(self) -> ServingRequest: ...

    @property
    def finished(self) -> bool: ...

    def step(self) -> None: ...

    def take_events(self) -> list[Event]: ...

    def close(self) -> None: ...


class Engine(Protocol):
    def fits(self, request: ServingRequest) -> bool: ...

    def start(self, request: ServingRequest, in_use: Collection[str | None], say: Say) -> RequestRun:
        """Load a request's model and adapter if needed, then start it. Adapters not `in_use`
        may be evicted.
        """

    def relieve(self) -> None: ...
