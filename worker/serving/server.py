"""The serving process's loop: orders come in at any time, and every one under way gets a token in its turn."""

import queue
import time
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from reinforge.errors import JobFailure, ReinforgeError
from worker.policy.host import LocalHost
from worker.policy.memory import is_out_of_memory
from worker.rollout.transformers_engine import cache_bytes_per_token
from worker.serving.generation import Generation
from worker.serving.held import HeldModel
from worker.serving_protocol import Order, Reply

EVENTS_EVERY_SECONDS = 0.05
"""Events of an order are collected for so long before they are sent; its first go at once."""
CPU_CACHE_BYTES = 512 * 1024**2
GPU_CACHE_SHARE = 0.1
"""Of the free memory, for the keys and values of one order: training may be using the same device."""


@dataclass
class _Active:
    generation: Generation
    host: LocalHost
    send_at: float = field(default=0.0)


class Server:
    """`inbox` gets messages of `worker.serving_protocol` as they were parsed; `send` passes replies on."""

    def __init__(self, inbox: "queue.SimpleQueue[dict[str, Any]]", send: Callable[[Reply], None]) -> None:
        self._inbox, self._send = inbox, send
        self._held = HeldModel()
        self._waiting: deque[Order] = deque()
        self._active: list[_Active] = []
        self._told: set[str] = set()
        """Orders that know what they wait for."""

    def run(self) -> None:
        """Serve for ever."""
        while True:
            self.turn()

    def turn(self) -> None:
        """Take what has come in, waiting for it when there is nothing to do, and give every order one step."""
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
                self._waiting.append(Order.model_validate(message["order"]))

    def _cancel(self, id: str) -> None:
        self._waiting = deque(order for order in self._waiting if order.id != id)
        self._active = [each for each in self._active if each.generation.order.id != id]

    def _admit(self) -> None:
        """Start orders, first come, first served: one for another model waits until the model is free."""
        while self._waiting:
            order = self._waiting[0]
            if self._active and not self._held.fits(order):
                if order.id not in self._told:
                    self._told.add(order.id)
                    self._status(order, "Waiting until another model is done")
                return
            self._waiting.popleft()
            self._told.discard(order.id)
            self._start(order)

    def _start(self, order: Order) -> None:
        in_use = {each.generation.order.adapter for each in self._active}
        try:
            host = self._held.host(order, in_use, lambda message: self._status(order, message))
            self._active.append(_Active(Generation(order, host.base, _tokens_in_cache(host)), host))
        except Exception as error:  # noqa: BLE001 - the boundary where it becomes the order's error
            self._fail(order, error)

    def _step(self, active: _Active) -> None:
        generation, order = active.generation, active.generation.order
        try:
            with torch.inference_mode(), active.host.activate(order.adapter):
                generation.step()
            now = time.monotonic()
            due = generation.finished or now >= active.send_at
            if due and (events := generation.take_events()):
                self._send(Reply(id=order.id, events=events))
                active.send_at = now + EVENTS_EVERY_SECONDS
        except Exception as error:  # noqa: BLE001 - as above; the other orders go on
            self._active.remove(active)
            self._fail(order, error)
            return
        if generation.finished:
            self._active.remove(active)
            self._send(Reply(id=order.id, ended=True))

    def _status(self, order: Order, message: str) -> None:
        self._send(Reply(id=order.id, events=[{"type": "status", "message": message}]))

    def _fail(self, order: Order, error: Exception) -> None:
        known = _attributed(error)
        if known.code in ("out_of_memory", "sampling_failed"):
            traceback.print_exception(error)
        if known.code == "out_of_memory" and torch.cuda.is_available():
            error.__traceback__ = None  # it keeps the tensors of the frames it names
            torch.cuda.empty_cache()
        self._send(Reply(id=order.id, error=known.envelope()["error"]))


def _tokens_in_cache(host: LocalHost) -> int:
    model = host.base.model
    room = CPU_CACHE_BYTES
    if model.device.type == "cuda":
        room = int(torch.cuda.mem_get_info(model.device)[0] * GPU_CACHE_SHARE)
    return max(1, room // cache_bytes_per_token(model))


def _attributed(error: Exception) -> ReinforgeError:
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
