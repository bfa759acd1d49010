"""Keeps requests that vLLM on the CPU computes wrongly together out of one batch.

It applies some adapter to rows without one that share a batch with others, and ends when a prompt is scored in a
batch with other rows.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator


class BatchTurns:
    """Requests of equal kinds run together, others one after the other. A kind of its own runs alone."""

    def __init__(self, *, apart: bool) -> None:
        self._apart = apart
        self._kind: object = None
        self._running = 0
        self._waiting: list[tuple[object, asyncio.Future[None]]] = []

    @contextlib.asynccontextmanager
    async def turn(self, kind: object) -> AsyncGenerator[None, None]:
        if not self._apart:
            yield
            return
        await self._enter(kind)
        try:
            yield
        finally:
            self._leave()

    async def _enter(self, kind: object) -> None:
        if self._running == 0 or (self._kind == kind and not self._waiting):
            self._kind = kind
            self._running += 1
            return
        admitted = asyncio.get_running_loop().create_future()
        entry = (kind, admitted)
        self._waiting.append(entry)
        try:
            await admitted
        except asyncio.CancelledError:
            if entry in self._waiting:
                self._waiting.remove(entry)
                if not self._waiting or all(other == self._kind for other, _ in self._waiting):
                    self._admit()
            else:
                self._leave()
            raise

    def _leave(self) -> None:
        self._running -= 1
        if self._running == 0:
            self._kind = None
            self._admit()

    def _admit(self) -> None:
        if self._running == 0 and self._waiting:
            self._kind = self._waiting[0][0]
        still: list[tuple[object, asyncio.Future[None]]] = []
        for kind, admitted in self._waiting:
            if kind != self._kind:
                still.append((kind, admitted))
            elif not admitted.done():
                self._running += 1
                admitted.set_result(None)
        self._waiting = still
