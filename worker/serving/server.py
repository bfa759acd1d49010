"""The loop of the serving process: each iteration samples one token for every running request."""

import queue
import time
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from reinforge.errors import JobFailure, ReinforgeError
from worker.machine.memory import is_out_of_memory
from worker.serving.engine import Engine, RequestRun
from worker.serving_client.protocol import Reply, ServingRequest

EVENTS_EVERY_SECONDS = 0.05


@dataclass
class _Active:
    run: RequestRun
    send_at: float = field(default=0.0)


class ServingServer:
    def __init__(
        self, inbox: "queue.SimpleQueue[dict[str, Any]]", send: Callable[[Reply], None], engine: Engine
    ) -> None:
        self._inbox, self._send, self._engine = inbox, send, engine
        self._waiting: deque[ServingRequest] = deque()
        self._active: list[_Active] = []
        self._notified: set[str] = set()

    def run(self) -> None:
        while True:
            self.turn()

    def turn(self) -> None:
        self._receive()
        self._admit()
        for active in list(self._active):
            self._step(active)

    def _receive(self) -> None:
        idle = not self._active and not self._waiting
        while idle or not self._inbox.empty():
            message = self._inbox.get()
            idle = False
            if "cancel" in message:
                self._cancel(message["cancel"])
            else:
                self._waiting.append(ServingRequest.model_validate(message["request"]))

    def _cancel(self, id: str) -> None:
        self._waiting = deque(request for request in self._waiting if request.id != id)
        for active in [candidate for candidate in self._active if candidate.run.request.id == id]:
            self._end(active)

    def _admit(self) -> None:
        while self._waiting:
            request = self._waiting[0]
            if self._active and not self._engine.fits(request):
                if request.id not in self._notified:
                    self._notified.add(request.id)
                    self._status(request, "Waiting until another model is done")
                return
            self._waiting.popleft()
            self._notified.discard(request.id)
            self._start(request)

    def _start(self, request: ServingRequest) -> None:
        in_use = {active.run.request.adapter for active in self._active}
        try:
            run = self._engine.start(request, in_use, lambda message: self._status(request, message))
        except BaseException as error:  # noqa: BLE001 - becomes the request's error; a library's panic is no Exception
            self._fail(request, error)
            return
        self._active.append(_Active(run))

    def _step(self, active: _Active) -> None:
        run = active.run
        try:
            if not run.finished:
                run.step()
            now = time.monotonic()
            due = run.finished or now >= active.send_at
            if due and (events := run.take_events()):
                self._send(Reply(id=run.request.id, events=events))
                active.send_at = now + EVENTS_EVERY_SECONDS
        except BaseException as error:  # noqa: BLE001 - as above; the other requests go on
            self._end(active)
            self._fail(run.request, error)
            return
        if run.finished:
            self._end(active)
            self._send(Reply(id=run.request.id, ended=True))

    def _end(self, active: _Active) -> None:
        self._active.remove(active)
        active.run.close()

    def _status(self, request: ServingRequest, message: str) -> None:
        self._send(Reply(id=request.id, events=[{"type": "status", "message": message}]))

    def _fail(self, request: ServingRequest, error: BaseException) -> None:
        failure = _attributed(error)
        if failure.code in ("out_of_memory", "sampling_failed"):
            traceback.print_exception(error)
        if failure.code == "out_of_memory":
            error.__traceback__ = None  # it keeps the tensors of the frames it names
            self._engine.relieve()
        self._send(Reply(id=request.id, error=failure.envelope()["error"]))


def _attributed(error: BaseException) -> ReinforgeError:
    if isinstance(error, ReinforgeError):
        return error
    if is_out_of_memory(error):
        return JobFailure(
            "The worker has too little memory to sample from this model now.",
            code="out_of_memory",
            hint="Ask for fewer or shorter completions at once, or wait until a job has ended.",
        )
    lines = str(error).strip().splitlines()
    return JobFailure(
        f"Sampling failed: {type(error).__name__}: {lines[0][:500] if lines else ''}",
        code="sampling_failed",
        hint="The log of `python -m worker calls` has the traceback.",
    )
