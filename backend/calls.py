"""The calls lane: something that a worker has to do now, while a request waits for it.

The call is a row with a deadline. A `worker calls` process long-polls for rows (`take`), answers (`answer`), and
the waiting request (`ask`) is woken by NOTIFY. Nothing ever connects to a worker.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Annotated, Any

from fastapi import Depends, Request
from sqlalchemy import delete, func, select, update

from backend.database import Database
from backend.events import Hub, notify
from backend.ids import new_id
from backend.models import Call, Worker, now
from reinforge.errors import InvalidInput, NotFound, ReinforgeError, Unavailable
from reinforge.schemas.worker_door import CallKind, CallMessage

ONLINE_SECONDS = 30.0
"""A worker that has not been heard of for longer counts as gone."""
_LOOK_AGAIN_SECONDS = 5.0
_KEPT = timedelta(minutes=10)


class Calls:
    """The lane of one process. `ask` belongs to requests, `take` and `answer` to the worker door."""

    def __init__(self, database: Database, hub: Hub) -> None:
        self.database = database
        self.hub = hub

    async def ask(self, kind: CallKind, payload: dict[str, Any], *, timeout: float) -> dict[str, Any]:
        """Have a worker do something and return its result.

        Never call it inside an open transaction: it waits up to `timeout` seconds. Raises Unavailable
        (`no_worker`, `call_timeout`), or the error that the worker answered with.
        """
        call_id = new_id("call_")
        deadline = now() + timedelta(seconds=timeout)
        with self.hub.subscribe(f"call:{call_id}") as answered:
            async with self.database.transaction() as session:
                online = await session.scalar(
                    select(func.count())
                    .select_from(Worker)
                    .where(
                        Worker.kind == "calls",
                        Worker.last_seen_at > now() - timedelta(seconds=ONLINE_SECONDS),
                    )
                )
                if not online:
                    raise no_worker()
                session.add(Call(id=call_id, kind=kind, payload=payload, state="waiting", deadline=deadline))
                await notify(session, "calls")
            while (left := (deadline - now()).total_seconds()) > 0:
                await answered.wait(min(left, _LOOK_AGAIN_SECONDS))
                async with self.database.transaction() as session:
                    call = await session.get_one(Call, call_id)
                    if call.state == "answered":
                        await session.delete(call)
                        return _result(call)
        raise Unavailable(
            f"No worker has answered within {timeout:g} s.",
            code="call_timeout",
            hint="Look at the log of `python -m worker calls`, and try again.",
        )

    async def take(
        self,
        worker: str,
        kinds: Sequence[CallKind],
        *,
        wait_seconds: float,
        gone: Callable[[], Awaitable[bool]],
    ) -> CallMessage | None:
        """The oldest waiting call of these kinds, as soon as there is one; None after `wait_seconds`.

        `gone` tells whether the asking worker has hung up: a call must not be given to nobody.
        """
        until = now() + timedelta(seconds=wait_seconds)
        with self.hub.subscribe("calls") as arrived:
            while not await gone():
                message = await self._take_waiting(worker, kinds)
                left = (until - now()).total_seconds()
                if message is not None or left <= 0:
                    return message
                await arrived.wait(min(left, _LOOK_AGAIN_SECONDS))
        return None

    async def _take_waiting(self, worker: str, kinds: Sequence[CallKind]) -> CallMessage | None:
        async with self.database.transaction() as session:
            await session.execute(update(Worker).where(Worker.id == worker).values(last_seen_at=now()))
            call = await session.scalar(
                select(Call)
                .where(Call.state == "waiting", Call.kind.in_(kinds), Call.deadline > now())
                .order_by(Call.created_at)
                .limit(1)
                .with_for_update(skip_locked=True)
            )
            if call is None:
                return None
            call.state, call.worker_id, call.taken_at = "taken", worker, now()
            left = (call.deadline - now()).total_seconds()
            return CallMessage(id=call.id, kind=call.kind, payload=call.payload, deadline_seconds=left)

    async def answer(self, call_id: str, result: dict[str, Any] | None, error: dict[str, Any] | None) -> None:
        """Store a worker's answer; a second one changes nothing. Raises NotFound once nobody waits any more."""
        async with self.database.transaction() as session:
            call = await session.get(Call, call_id, with_for_update=True)
            if call is None:
                raise NotFound(f"No call {call_id} waits for an answer.", code="call_not_found")
            if call.state != "answered":
                call.state, call.answered_at = "answered", now()
                call.result, call.error = result, error
                await notify(session, f"call:{call_id}")

    async def clean_up(self) -> int:
        """Delete calls that nobody waits for; returns how many."""
        async with self.database.transaction() as session:
            gone = await session.execute(delete(Call).where(Call.deadline < now() - _KEPT).returning(Call.id))
            return len(gone.all())


def get_calls(request: Request) -> Calls:
    calls: Calls = request.app.state.calls
    return calls


CallsDep = Annotated[Calls, Depends(get_calls)]


def no_worker() -> Unavailable:
    return Unavailable(
        "No worker is there to answer this.",
        code="no_worker",
        hint="Start one with `python -m worker calls` (`reinforge up` does), then try again.",
    )


def _result(call: Call) -> dict[str, Any]:
    """The answer's result. Raises the answer's error as if it had happened here."""
    if call.error is None:
        return call.result or {}
    kind: type[ReinforgeError] = InvalidInput if call.error.get("type") == InvalidInput.type else Unavailable
    raise kind(
        str(call.error.get("message") or "The worker reported an error."),
        code=call.error.get("code"),
        hint=call.error.get("hint"),
        param=call.error.get("param"),
        errors=call.error.get("errors"),
    )
