"""Streaming RPCs: the events of a running call reach the waiting request through database tables."""

import time
from collections.abc import AsyncGenerator
from datetime import datetime, timedelta
from typing import Any, Generic

import anyio
from pydantic import TypeAdapter
from sqlalchemy import delete, select, update

from backend.models import Call, CallChunk, now
from backend.rpc.client import LOOK_AGAIN_SECONDS, Calls, call_error, is_lost, worker_lost
from reinforge.errors import Unavailable
from reinforge.schemas.rpc.base import RequestT, ResultT, Rpc
from reinforge.schemas.rpc.events import RpcEvent, StatusEvent

LISTENER_SECONDS = 30.0
_SAY_WAITING_AFTER = 1.0

_EVENT: TypeAdapter[RpcEvent] = TypeAdapter(RpcEvent)


class CallStream(Generic[ResultT]):
    """Events of one call; iterate `events` once."""

    def __init__(self, calls: Calls, rpc: Rpc[Any, ResultT], call_id: str, quiet_seconds: float) -> None:
        self._rpc = rpc
        self._calls, self.call_id, self._quiet = calls, call_id, quiet_seconds
        self._seq = 0
        self._first_event_at: float | None = None
        self._over: float | None = None
        self.result: ResultT | None = None

    @property
    def seconds(self) -> float:
        if self._first_event_at is None:
            return 0.0
        return (self._over or time.monotonic()) - self._first_event_at

    async def events(self) -> AsyncGenerator[RpcEvent | None, None]:
        """The worker's events in the order sent; None as a keep-alive. Deletes the call at the end. Raises
        Unavailable or the worker's error.
        """
        began = last_event_at = time.monotonic()
        reported_waiting = False
        pause = _SAY_WAITING_AFTER
        try:
            with self._calls.hub.subscribe(f"call:{self.call_id}") as changed:
                while True:
                    call, events = await self._look()
                    if events:
                        last_event_at = time.monotonic()
                        self._first_event_at = self._first_event_at or last_event_at
                    for event in events:
                        yield event
                    if call.state == "answered":
                        if call.error is not None:
                            raise call_error(call.error)
                        self.result = self._rpc.read_result(call.result or {})
                        return
                    if time.monotonic() - last_event_at > self._quiet:
                        raise self._timed_out(call.state)
                    waited = time.monotonic() - began >= _SAY_WAITING_AFTER
                    if call.state == "waiting" and waited and not reported_waiting:
                        reported_waiting = True
                        yield StatusEvent(type="status", message="Waiting until a worker is free")
                    if not await changed.wait(pause):
                        pause = min(LOOK_AGAIN_SECONDS, self._quiet)
                        yield None
        finally:
            self._over = time.monotonic()
            with anyio.CancelScope(shield=True):  # cancelled when the client disconnects
                await self._forget()

    async def discard(self) -> None:
        await self._forget()

    async def _look(self) -> tuple[Any, list[RpcEvent]]:
        database = self._calls.database
        async with database.transaction() as session:
            # The call first: a chunk stored before its answer is found by the second query.
            columns = select(
                Call.state, Call.worker_id, Call.taken_at, Call.deadline, Call.error, Call.result
            )
            call = (await session.execute(columns.where(Call.id == self.call_id))).one_or_none()
            if call is None or call.deadline < now():
                raise Unavailable(
                    f"The stream was not read for {LISTENER_SECONDS:g} s, so the worker was stopped.",
                    code="stream_stalled",
                    hint="Try again.",
                )
            rows = select(CallChunk.seq, CallChunk.events).where(
                CallChunk.call_id == self.call_id, CallChunk.seq > self._seq
            )
            chunks = (await session.execute(rows.order_by(CallChunk.seq))).all()
            lost = not chunks and await is_lost(session, call)
            if call.deadline < _listener_lease() - timedelta(seconds=LISTENER_SECONDS / 3):
                await session.execute(
                    update(Call).where(Call.id == self.call_id).values(deadline=_listener_lease())
                )
        if lost:
            raise worker_lost()
        if chunks:
            self._seq = chunks[-1].seq
        return call, [_EVENT.validate_python(event) for chunk in chunks for event in chunk.events]

    async def _forget(self) -> None:
        async with self._calls.database.transaction() as session:
            await session.execute(delete(Call).where(Call.id == self.call_id))

    def _timed_out(self, state: str) -> Unavailable:
        problem = "No worker was free" if state == "waiting" else "The worker has sent nothing"
        return Unavailable(
            f"{problem} for {self._quiet:g} s.",
            code="call_timeout",
            hint="Look at the log of `python -m worker calls`, and try again.",
        )


async def open_stream(
    calls: Calls, rpc: Rpc[RequestT, ResultT], request: RequestT, *, quiet_seconds: float
) -> CallStream[ResultT]:
    return CallStream(calls, rpc, await calls.add(rpc, request, _listener_lease()), quiet_seconds)


def _listener_lease() -> datetime:
    return now() + timedelta(seconds=LISTENER_SECONDS)
