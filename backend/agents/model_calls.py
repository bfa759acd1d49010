"""Queue of model calls: requests that wait for the trainer of an attempt.

A call is a row with a deadline. The trainer long-polls for the calls of its attempt and posts answers; NOTIFY
wakes the request that waits. The queue does not interpret the calls: `kind` names the protocol, `caller` the
sender.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import anyio
from sqlalchemy import delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from backend.agents.attempts import is_alive
from backend.data.database import Database
from backend.data.events import Hub, notify
from backend.data.ids import new_id
from backend.models import QueuedModelCall, now
from backend.rpc.client import call_error
from reinforge.errors import StateConflict, TooManyRequests, Unavailable
from reinforge.schemas.agent_rollouts import MOST_CALLS_AT_ONCE, ModelCallAnswer, ModelCallMessage

LOOK_AGAIN_SECONDS = 2.0
HANG_UP_SECONDS = 1.0
CALLER_CALLS = 64
"""Maximum number of a caller's waiting calls."""
ROLLOUT_ENDED = "rollout_ended"
_RETENTION = timedelta(minutes=10)

IsGone = Callable[[], Awaitable[bool]]


@dataclass(frozen=True)
class TrainerAttempt:
    job_id: str
    attempt: int

    @property
    def topic(self) -> str:
        return f"trainer:{self.job_id}"


@dataclass(frozen=True)
class WaitingCall:
    id: str
    attempt: TrainerAttempt
    timeout: float
    """Seconds that the caller waits."""


async def add(
    session: AsyncSession,
    attempt: TrainerAttempt,
    kind: str,
    caller: str,
    payload: dict[str, Any],
    *,
    timeout: float,
) -> WaitingCall:
    """Queue a call. Raises TooManyRequests."""
    call = WaitingCall(new_id("mcall_"), attempt, timeout)
    waiting = await session.scalar(select(func.count()).where(QueuedModelCall.caller == caller))
    if (waiting or 0) >= CALLER_CALLS:
        raise TooManyRequests(
            f"{CALLER_CALLS} calls of this rollout are already waiting for an answer.",
            code="too_many_calls",
            hint="Wait for some of the answers, then try again.",
            retry_after=1,
        )
    session.add(
        QueuedModelCall(
            id=call.id,
            job_id=attempt.job_id,
            attempt=attempt.attempt,
            kind=kind,
            caller=caller,
            payload=payload,
            deadline=now() + timedelta(seconds=timeout),
        )
    )
    await notify(session, attempt.topic)
    return call


class ModelCalls:
    def __init__(self, database: Database, hub: Hub) -> None:
        self._database, self._hub = database, hub

    async def answer(self, call: WaitingCall, gone: IsGone) -> dict[str, Any]:
        """Wait for the trainer's answer; returns its result. Raises its error, StateConflict `rollout_ended`,
        Unavailable.
        """
        try:
            return await self._answer(call, gone)
        finally:
            with anyio.CancelScope(shield=True):  # cancelled when the caller hangs up
                await self._forget(call.id)

    async def _answer(self, call: WaitingCall, gone: IsGone) -> dict[str, Any]:
        began = time.monotonic()
        until, look = began + call.timeout, began + LOOK_AGAIN_SECONDS
        with self._hub.subscribe(f"model-call:{call.id}") as answered:
            while (remaining := until - time.monotonic()) > 0:
                if time.monotonic() >= look:
                    look = time.monotonic() + LOOK_AGAIN_SECONDS
                    row = await self._look(call)
                    if row.state == "answered":
                        return _result(row)
                if await gone():
                    raise Unavailable("The client has disconnected.", code="caller_gone")
                if await answered.wait(min(remaining, HANG_UP_SECONDS)):
                    look = 0.0
        raise Unavailable(
            f"The trainer has not answered within {call.timeout:g} s.", code="call_timeout", hint="Try again."
        )

    async def _look(self, call: WaitingCall) -> QueuedModelCall:
        async with self._database.transaction() as session:
            row = await session.get(QueuedModelCall, call.id)
            if row is not None and row.state == "answered":
                return row
            if not await is_alive(session, call.attempt.job_id, call.attempt.attempt):
                raise rollout_ended()
            if row is None:
                raise Unavailable(
                    "The call is no longer in the database.", code="call_lost", hint="Try again."
                )
            return row

    async def _forget(self, call_id: str) -> None:
        async with self._database.transaction() as session:
            await session.execute(delete(QueuedModelCall).where(QueuedModelCall.id == call_id))

    async def clean_up(self) -> int:
        """Delete calls that remain because the process that served their request ended."""
        async with self._database.transaction() as session:
            old = delete(QueuedModelCall).where(QueuedModelCall.deadline < now() - _RETENTION)
            return len((await session.execute(old.returning(QueuedModelCall.id))).all())


async def received(session: AsyncSession, attempt: TrainerAttempt, ids: Sequence[str]) -> None:
    """Mark the calls that the trainer has received, so that they are not sent again."""
    if ids:
        taken = update(QueuedModelCall).where(
            _of(attempt), QueuedModelCall.id.in_(ids), QueuedModelCall.state == "waiting"
        )
        await session.execute(taken.values(state="taken"))


async def waiting_calls(session: AsyncSession, attempt: TrainerAttempt) -> list[ModelCallMessage]:
    """Callers take turns; each caller's oldest calls come first."""
    turn = func.row_number().over(partition_by=QueuedModelCall.caller, order_by=QueuedModelCall.created_at)
    query = (
        select(QueuedModelCall)
        .where(_of(attempt), QueuedModelCall.state == "waiting", QueuedModelCall.deadline > now())
        .order_by(turn, QueuedModelCall.created_at, QueuedModelCall.id)
        .limit(MOST_CALLS_AT_ONCE)
    )
    return [ModelCallMessage.model_validate(call) for call in await session.scalars(query)]


async def store_answers(
    session: AsyncSession, attempt: TrainerAttempt, answers: Sequence[ModelCallAnswer]
) -> list[str]:
    """Store answers; repeated ones change nothing. Returns ids of calls whose callers have disconnected."""
    query = select(QueuedModelCall).where(
        _of(attempt), QueuedModelCall.id.in_([answer.id for answer in answers])
    )
    calls = {call.id: call for call in await session.scalars(query.with_for_update())}
    for answer in answers:
        call = calls.get(answer.id)
        if call is not None and call.state != "answered":
            call.state, call.result, call.error = "answered", answer.result, answer.error
            await notify(session, f"model-call:{call.id}")
    return [answer.id for answer in answers if answer.id not in calls]


async def forget_callers(session: AsyncSession, callers: Sequence[str]) -> None:
    """Answer the calls of `callers`, which have ended, with the error `rollout_ended`."""
    if callers:
        waiting = update(QueuedModelCall).where(
            QueuedModelCall.caller.in_(callers), QueuedModelCall.state != "answered"
        )
        ended = waiting.values(state="answered", error=rollout_ended().envelope()["error"])
        for call_id in await session.scalars(ended.returning(QueuedModelCall.id)):
            await notify(session, f"model-call:{call_id}")


def _of(attempt: TrainerAttempt) -> Any:
    return (QueuedModelCall.job_id == attempt.job_id) & (QueuedModelCall.attempt == attempt.attempt)


def _result(row: QueuedModelCall) -> dict[str, Any]:
    if row.error is None:
        return row.result or {}
    raise rollout_ended() if row.error.get("code") == ROLLOUT_ENDED else call_error(row.error)


def rollout_ended() -> StateConflict:
    return StateConflict(
        "The rollout has ended.", code=ROLLOUT_ENDED, hint="Take another rollout and use its key."
    )
