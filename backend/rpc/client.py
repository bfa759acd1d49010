"""RPCs to workers: work that a request waits for.

A call is a row with a deadline. An RPC worker long-polls for rows (`take`) and answers (`answer`); NOTIFY wakes the
waiting request (`ask`).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Annotated, Any

import anyio
from fastapi import Depends, Request
from pydantic import BaseModel
from sqlalchemy import ColumnElement, Row, Select, and_, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from backend.access import sender_slots
from backend.data.database import Database
from backend.data.events import Hub, notify
from backend.data.ids import new_id
from backend.models import Call, CallChunk, Worker, now
from backend.rpc.polls import WorkerPolls
from backend.telemetry.process_figures import RPC_WAIT_SECONDS, timed_rpc
from reinforge.errors import (
    InvalidInput,
    NotFound,
    ReinforgeError,
    StateConflict,
    TooManyRequests,
    Unavailable,
)
from reinforge.parsing.json_depth import DEEPEST, is_deeper
from reinforge.schemas.rpc.base import CallKind, RequestT, ResultT, Rpc, dump
from reinforge.schemas.worker_api import CallMessage
from reinforge.system import tracing

ONLINE_SECONDS = 30.0
"""Seconds without contact after which a worker is offline, and loses its calls."""
LOOK_AGAIN_SECONDS = 5.0
PROJECT_CALLS = 2
HANG_UP_SECONDS = 1.0
SLOW_SECONDS = 10.0
"""Seconds of waiting after which workers count as not answering."""
RETRY_AFTER_SECONDS = 5
_RETENTION = timedelta(minutes=10)
_TAKING = 7_224_910_163_351_041
"""Advisory lock for taking calls: without it, concurrent takers could exceed a project's limit."""

IsGone = Callable[[], Awaitable[bool]]


@dataclass(frozen=True)
class Waiting:
    calls: int = 100
    samples: int = 1024


class Calls:
    def __init__(
        self,
        database: Database,
        hub: Hub,
        *,
        gone: IsGone | None = None,
        project: Callable[[], str | None] = lambda: None,
        limits: Waiting = Waiting(),
        waits: Callable[[], None] = lambda: None,
        polls: WorkerPolls | None = None,
    ) -> None:
        self.database = database
        self.hub = hub
        self._gone, self._project, self._limits, self._waits = gone, project, limits, waits
        self._polls = polls or WorkerPolls(hub)

    def of(self, request: Request) -> "Calls":
        return Calls(
            self.database,
            self.hub,
            gone=request.is_disconnected,
            project=lambda: getattr(getattr(request.state, "principal", None), "project_id", None),
            limits=self._limits,
            waits=lambda: sender_slots.leave(request),
            polls=self._polls,
        )

    def of_project(self, project_id: str) -> "Calls":
        return Calls(self.database, self.hub, project=lambda: project_id, limits=self._limits)

    async def ask(self, rpc: Rpc[RequestT, ResultT], request: RequestT, *, timeout: float) -> ResultT:
        """Call a worker and return its result. Use outside transactions. Raises Unavailable, or the worker's
        error.
        """
        with timed_rpc(rpc.kind), tracing.span(f"rpc {rpc.kind}", kind="client"):
            return await self._ask(rpc, request, timeout)

    async def _ask(self, rpc: Rpc[RequestT, ResultT], request: RequestT, timeout: float) -> ResultT:
        deadline = now() + timedelta(seconds=timeout)
        call_id = await self.add(rpc, request, deadline)
        self._waits()
        try:
            call = await self._answered(call_id, deadline)
        finally:
            with anyio.CancelScope(shield=True):  # cancelled when the server stops
                await self.forget(call_id)
        if call is None:
            raise Unavailable(
                f"No worker has answered within {timeout:g} s.",
                code="call_timeout",
                hint="Look at the log of `python -m worker calls`, and try again.",
            )
        if call.error is not None:
            raise call_error(call.error)
        return rpc.read_result(call.result or {})

    async def _answered(self, call_id: str, deadline: datetime) -> Call | None:
        look = 0.0
        with self.hub.subscribe(f"call:{call_id}") as answered:
            while (remaining := (deadline - now()).total_seconds()) > 0:
                if time.monotonic() >= look:
                    look = time.monotonic() + LOOK_AGAIN_SECONDS
                    async with self.database.transaction() as session:
                        call = await session.get_one(Call, call_id)
                        lost = await is_lost(session, call)
                    if call.state == "answered":
                        return call
                    if lost:
                        raise worker_lost()
                if self._gone is not None and await self._gone():
                    raise Unavailable("The client has disconnected.", code="caller_gone")
                if await answered.wait(min(remaining, HANG_UP_SECONDS)):
                    look = 0.0
        return None

    async def forget(self, call_id: str) -> None:
        async with self.database.transaction() as session:
            # The update first: it waits for an answer that is being saved, so that the deletion sees it.
            await session.execute(update(Call).where(Call.id == call_id).values(deadline=now()))
            await session.execute(delete(Call).where(Call.id == call_id, Call.state != "taken"))

    async def add(self, rpc: Rpc[RequestT, ResultT], request: RequestT, deadline: datetime) -> str:
        """Queue a call; returns its id. Raises TooManyRequests, InvalidInput, Unavailable `no_worker`."""
        adding = asyncio.create_task(self._add(rpc.kind, request, deadline))
        try:
            return await asyncio.shield(adding)
        except asyncio.CancelledError:
            with anyio.CancelScope(shield=True), suppress(ReinforgeError, SQLAlchemyError):
                await self.forget(await adding)
            raise

    async def _add(self, kind: CallKind, request: BaseModel, deadline: datetime) -> str:
        payload = _payload(request)
        call_id, project_id = new_id("call_"), self._project()
        can = or_(Worker.answers.is_(None), Worker.answers.contains([kind]))
        async with self.database.transaction() as session:
            online = await session.scalar(
                select(func.count())
                .select_from(Worker)
                .where(Worker.kind == "calls", Worker.last_seen_at > _online_since(), can)
            )
            if not online:
                raise no_worker(kind)
            await self._check_waiting(session, project_id, kind)
            session.add(
                Call(
                    id=call_id,
                    kind=kind,
                    payload=payload,
                    state="waiting",
                    deadline=deadline,
                    project_id=project_id,
                    trace_context=tracing.current(),
                )
            )
            await notify(session, "calls")
        return call_id

    async def _check_waiting(self, session: AsyncSession, project_id: str | None, kind: CallKind) -> None:
        if project_id is None:
            return
        samples = kind == "sample"
        same = Call.kind == "sample" if samples else Call.kind != "sample"
        waiting = select(func.count()).where(
            Call.project_id == project_id, Call.state == "waiting", Call.deadline > now(), same
        )
        limit = self._limits.samples if samples else self._limits.calls
        if (await session.scalar(waiting) or 0) >= limit:
            raise TooManyRequests(
                f"{limit:,} {'sampling requests' if samples else 'calls'} of this project "
                "are already waiting for a worker.",
                code="too_many_calls",
                hint="Wait until some are answered, or start more workers. Whoever runs the platform can raise "
                f"REINFORGE_PROJECT_{'SAMPLES' if samples else 'CALLS'}.",
                retry_after=RETRY_AFTER_SECONDS,
            )

    async def take(
        self, worker: str, kinds: Sequence[CallKind], *, wait_seconds: float, gone: IsGone
    ) -> CallMessage | None:
        """The next call of these kinds; None after `wait_seconds`. gone: whether the worker has disconnected."""
        until = now() + timedelta(seconds=wait_seconds)
        with self._polls.of(worker, kinds) as (poll, arrived):
            while not await gone():
                message = await poll.look(partial(self._take_waiting, worker, kinds), gone)
                remaining = (until - now()).total_seconds()
                if message is not None or remaining <= 0:
                    return message
                await arrived.wait(min(remaining, LOOK_AGAIN_SECONDS))
        return None

    async def _take_waiting(self, worker: str, kinds: Sequence[CallKind]) -> CallMessage | None:
        async with self.database.transaction() as session:
            await session.execute(update(Worker).where(Worker.id == worker).values(last_seen_at=now()))
            await session.execute(select(func.pg_advisory_xact_lock(_TAKING)))
            call = await session.scalar(_next_call(kinds))
            if call is None:
                return None
            call.state, call.worker_id, call.taken_at = "taken", worker, now()
            RPC_WAIT_SECONDS.labels(call.kind).observe((call.taken_at - call.created_at).total_seconds())
            remaining = (call.deadline - now()).total_seconds()
            return CallMessage(
                id=call.id,
                kind=call.kind,
                payload=call.payload,
                deadline_seconds=remaining,
                traceparent=call.trace_context,
            )

    async def answer(self, call_id: str, result: dict[str, Any] | None, error: dict[str, Any] | None) -> None:
        async with self.database.transaction() as session:
            call = await session.get(Call, call_id, with_for_update=True)
            abandoned = call is None or call.deadline < now()
            if call is not None and (abandoned or call.state != "answered"):
                await notify(session, "calls")  # its project may be running another one
            if call is not None and abandoned:
                await session.delete(call)
            elif call is not None and call.state != "answered":
                call.state, call.answered_at = "answered", now()
                call.result, call.error = result, error
                await notify(session, f"call:{call_id}")
        if abandoned:
            raise NotFound(f"No call {call_id} waits for an answer.", code="call_not_found")

    async def store_chunk(self, call_id: str, seq: int, events: list[dict[str, Any]]) -> None:
        """Save events of a running call, once per `seq`. Raises NotFound if no caller waits, StateConflict if
        the call is answered.
        """
        async with self.database.transaction() as session:
            # The lock keeps the call from being deleted before its chunk is stored.
            query = select(Call.state, Call.deadline).where(Call.id == call_id)
            call = (await session.execute(query.with_for_update(key_share=True))).one_or_none()
            if call is None or call.deadline < now():
                raise NotFound(f"No request waits for the call {call_id} any more.", code="call_not_found")
            if call.state != "taken":
                raise StateConflict(
                    f"The call {call_id} is {call.state}: it takes no more events.", code="call_not_running"
                )
            if not events:
                return
            chunk = insert(CallChunk).values(call_id=call_id, seq=seq, events=events)
            stored = await session.execute(chunk.on_conflict_do_nothing().returning(CallChunk.seq))
            if stored.first() is not None:
                await notify(session, f"call:{call_id}")

    async def clean_up(self) -> int:
        async with self.database.transaction() as session:
            deleted = await session.execute(
                delete(Call).where(Call.deadline < now() - _RETENTION).returning(Call.id)
            )
            return len(deleted.all())


async def get_calls(request: Request) -> Calls:
    calls: Calls = request.app.state.calls
    return calls.of(request)


CallsDep = Annotated[Calls, Depends(get_calls)]


def _payload(request: BaseModel) -> dict[str, Any]:
    try:
        payload = dump(request)
        too_deep = is_deeper(payload, 2 * DEEPEST)
    except ValueError:  # pydantic's own limit
        too_deep = True
    if too_deep:
        raise InvalidInput(
            f"The worker's input is nested more than {DEEPEST} levels deep.",
            code="nested_too_deep",
            hint="Look at the tools and the messages of these rows.",
        )
    return payload


def _next_call(kinds: Sequence[CallKind]) -> Select[Call]:
    """Query for the oldest call of the project with the fewest running calls; ties go to the project served
    longest ago.
    """
    other_call = aliased(Call)
    same = other_call.project_id == Call.project_id
    under_way = (
        select(func.count()).where(same, other_call.kind != "sample", _runs(other_call)).scalar_subquery()
    )
    processes = (
        select(func.count())
        .select_from(Worker)
        .where(Worker.kind == "calls", Worker.last_seen_at > _online_since())
        .scalar_subquery()
    )
    last_turn = select(func.max(other_call.taken_at)).where(same).scalar_subquery()
    may_run = or_(
        Call.kind == "sample",
        Call.project_id.is_(None),
        under_way < PROJECT_CALLS * func.greatest(processes, 1),
    )
    return (
        select(Call)
        .where(Call.state == "waiting", Call.kind.in_(kinds), Call.deadline > now(), may_run)
        .order_by(under_way, last_turn.nulls_first(), Call.created_at)
        .limit(1)
        .with_for_update(skip_locked=True)
    )


def _runs(call: type[Call]) -> ColumnElement[bool]:
    alive = select(Worker.id).where(
        Worker.id == call.worker_id,
        Worker.last_seen_at > _online_since(),
        Worker.registered_at <= call.taken_at,
    )
    return and_(call.state == "taken", alive.exists())


async def stuck(session: AsyncSession) -> int:
    other_call = aliased(Call)
    busy = select(other_call.id).where(other_call.project_id == Call.project_id, _runs(other_call)).exists()
    late = now() - timedelta(seconds=SLOW_SECONDS)
    waiting = and_(
        Call.state == "waiting", Call.kind != "sample", Call.created_at < late, Call.deadline > now()
    )
    return await session.scalar(select(func.count()).select_from(Call).where(waiting, ~busy)) or 0


def no_worker(kind: CallKind) -> Unavailable:
    samples = kind == "sample"
    return Unavailable(
        "No worker that can run models is online." if samples else "No worker is online.",
        code="no_worker",
        hint=f"Start `python -m worker calls`{' where reinforge[train] is installed' if samples else ''} "
        "(`reinforge up` does), then try again.",
    )


def worker_lost() -> Unavailable:
    return Unavailable(
        "The worker that processed the call is gone.",
        code="worker_lost",
        hint="Try again. If it happens again, the log of `python -m worker calls` says why.",
    )


async def is_lost(session: AsyncSession, call: Call | Row[Any]) -> bool:
    if call.state != "taken":
        return False
    alive = select(Worker.id).where(
        Worker.id == call.worker_id,
        Worker.last_seen_at > _online_since(),
        Worker.registered_at <= call.taken_at,
    )
    return await session.scalar(alive) is None


def _online_since() -> datetime:
    return now() - timedelta(seconds=ONLINE_SECONDS)


def call_error(error: dict[str, Any]) -> ReinforgeError:
    kind: type[ReinforgeError] = InvalidInput if error.get("type") == InvalidInput.type else Unavailable
    if error.get("code") == "code_rewards_disabled":  # unchanged until the machine is reconfigured
        kind = StateConflict
    return kind(
        str(error.get("message") or "The worker reported an error."),
        code=error.get("code"),
        hint=error.get("hint"),
        param=error.get("param"),
        errors=error.get("errors"),
    )
