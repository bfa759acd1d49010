"""Keeps requests for the base model and requests with adapters out of one batch.

vLLM on the CPU applies some adapter to rows without one that share a batch with others.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator


class BatchTurns:
    """The two kinds of requests take turns; within a kind they run together."""

    def __init__(self, *, apart: bool) -> None:
        self._apart = apart
        self._kind: bool | None = None
        self._running = 0
        self._waiting: list[tuple[bool, asyncio.Future[None]]] = []

    @contextlib.asynccontextmanager
    async def turn(self, adapted: bool) -> AsyncGenerator[None, None]:
        if not self._apart:
            yield
            return
        await self._enter(adapted)
        try:
            yield
        finally:
            self._leave()

    async def _enter(self, adapted: bool) -> None:
        if self._running == 0 or (self._kind == adapted and not self._waiting):
            self._kind = adapted
            self._running += 1
            return
        admitted = asyncio.get_running_loop().create_future()
        entry = (adapted, admitted)
        self._waiting.append(entry)
        try:
            await admitted
        except asyncio.CancelledError:
            if entry in self._waiting:
                self._waiting.remove(entry)
                if not self._waiting or all(kind == self._kind for kind, _ in self._waiting):
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
        still: list[tuple[bool, asyncio.Future[None]]] = []
        for kind, admitted in self._waiting:
            if kind != self._kind:
                still.append((kind, admitted))
            elif not admitted.done():
                self._running += 1
                admitted.set_result(None)
        self._waiting = still
