"""Rollouts of an attempt. Its trainer offers them, runners take them; a runner, a time limit or missing
heartbeats end them.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import ColumnElement, and_, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import digest
from backend.agents.attempts import ALIVE, is_alive
from backend.agents.model_calls import TrainerAttempt, forget_callers, rollout_ended
from backend.data.events import notify
from backend.models import AgentRollout, Job, now
from reinforge.environment_spec import AGENT
from reinforge.errors import NotFound, StateConflict
from reinforge.schemas.agent_rollouts import (
    KEY_PREFIX,
    MOST_CALLS_AT_ONCE,
    AgentLimits,
    AgentRolloutInput,
    AgentTask,
    AgentTaskInput,
    EndRollout,
    EndStatus,
    RolloutCounts,
    RolloutEnd,
)
from reinforge.states import FINAL

_MOST_MESSAGE = 4000
_MOST_RUNNERS = 100


@dataclass(frozen=True)
class OpenRollout:
    id: str
    attempt: TrainerAttempt
    try_no: int


def runners_topic(job_id: str) -> str:
    return f"runners:{job_id}"


# ── For the trainer ─────────────────────────────────────────────────────────────────────────────────────────


async def offer(
    session: AsyncSession,
    attempt: TrainerAttempt,
    limits: AgentLimits,
    rollouts: Sequence[AgentRolloutInput],
) -> None:
    moment = now()
    rows = [
        {
            "id": rollout.id,
            "job_id": attempt.job_id,
            "attempt": attempt.attempt,
            "task": rollout.task.model_dump(mode="json"),
            "limits": limits.model_dump(),
            "state": "waiting",
            "try_no": 0,
            "created_at": moment + timedelta(microseconds=place),
        }
        for place, rollout in enumerate(rollouts)
    ]
    if rows:
        await session.execute(insert(AgentRollout).values(rows).on_conflict_do_nothing())
        await notify(session, runners_topic(attempt.job_id))


async def expire(session: AsyncSession, attempt: TrainerAttempt) -> None:
    """End overdue rollouts; offer those of lost runners again, or end them after the last try."""
    moment, heartbeat = now(), AgentRollout.limits["heartbeat_seconds"].as_float()
    late = AgentRollout.deadline < moment
    silent = AgentRollout.heartbeat_at + func.make_interval(0, 0, 0, 0, 0, 0, heartbeat) < moment
    query = select(AgentRollout).where(_of(attempt), AgentRollout.state == "taken", or_(late, silent))
    for rollout in await session.scalars(query.with_for_update(skip_locked=True)):
        if rollout.deadline is not None and rollout.deadline < moment:
            seconds = rollout.limits["rollout_seconds"]
            await _end(
                session, rollout, "timeout", message=f"The rollout took longer than {seconds:g} s, its limit."
            )
        else:
            await _lose(session, rollout)


async def ended(session: AsyncSession, attempt: TrainerAttempt) -> list[RolloutEnd]:
    query = (
        select(AgentRollout.id, AgentRollout.outcome)
        .where(_of(attempt), AgentRollout.state == "ended")
        .order_by(AgentRollout.created_at)
        .limit(MOST_CALLS_AT_ONCE)
    )
    rows = (await session.execute(query)).all()
    return [RolloutEnd.model_validate({"rollout": id, **outcome}) for id, outcome in rows]


async def forget(session: AsyncSession, attempt: TrainerAttempt, ids: Sequence[str]) -> None:
    """Delete rollouts whose end the trainer has received."""
    if ids:
        done = (_of(attempt), AgentRollout.id.in_(ids), AgentRollout.state == "ended")
        await session.execute(delete(AgentRollout).where(*done))


async def close(session: AsyncSession, attempt: TrainerAttempt) -> None:
    gone = delete(AgentRollout).where(_of(attempt)).returning(AgentRollout.id)
    await forget_callers(session, list(await session.scalars(gone)))


async def count_waiting(session: AsyncSession, attempt: TrainerAttempt) -> int:
    query = select(func.count()).where(_of(attempt), AgentRollout.state == "waiting")
    return await session.scalar(query) or 0


async def counts(session: AsyncSession, project_id: str, job_id: str) -> RolloutCounts:
    """Numbers of a job's waiting and running rollouts, and its runners; zero without environment `agent`."""
    job = await _job(session, project_id, job_id)
    of_attempt = _of(TrainerAttempt(job.id, job.attempt))
    states = select(AgentRollout.state, func.count()).where(of_attempt).group_by(AgentRollout.state)
    by_state = {state: int(count) for state, count in await session.execute(states)}
    runners = select(AgentRollout.runner).where(of_attempt, AgentRollout.state == "taken").distinct()
    names = await session.scalars(runners.order_by(AgentRollout.runner).limit(_MOST_RUNNERS))
    return RolloutCounts(
        waiting=by_state.get("waiting", 0),
        running=by_state.get("taken", 0),
        runners=[name for name in names if name],
    )


async def clean_up(session: AsyncSession) -> None:
    """Delete the rollouts of attempts that are over."""
    over = or_(Job.attempt != AgentRollout.attempt, Job.lease_until.is_(None))
    await session.execute(delete(AgentRollout).where(Job.id == AgentRollout.job_id, over))


# ── For runners ─────────────────────────────────────────────────────────────────────────────────────────────


async def _job(session: AsyncSession, project_id: str, job_id: str) -> Job:
    job = await session.scalar(select(Job).where(Job.id == job_id, Job.project_id == project_id))
    if job is None:
        raise NotFound(f"There is no job {job_id}.", code="job_not_found", param="id")
    return job


async def agent_job(session: AsyncSession, project_id: str, job_id: str) -> Job:
    """A job with environment `agent`. Raises NotFound, StateConflict `not_an_agent_job`."""
    job = await _job(session, project_id, job_id)
    if job.resolved_spec.get("environment", {}).get("type") != AGENT:
        raise StateConflict(
            f"{job_id} samples its completions itself and has no rollouts for runners.",
            code="not_an_agent_job",
            hint="Use a job with `environment: {type: agent}`.",
        )
    return job


def has_ended(job: Job) -> bool:
    return job.status in FINAL


async def take(session: AsyncSession, job: Job, runner: str, most: int) -> list[AgentTask]:
    """Give waiting rollouts of the job's present attempt to a runner, oldest first."""
    if not await is_alive(session, job.id, job.attempt):
        return []
    query = (
        select(AgentRollout)
        .where(_of(TrainerAttempt(job.id, job.attempt)), AgentRollout.state == "waiting")
        .order_by(AgentRollout.created_at)
        .limit(most)
    )
    tasks = []
    for rollout in await session.scalars(query.with_for_update(skip_locked=True)):
        key = KEY_PREFIX + secrets.token_urlsafe(30)
        moment, seconds = now(), float(rollout.limits["rollout_seconds"])
        rollout.state, rollout.runner, rollout.heartbeat_at = "taken", runner, moment
        rollout.try_no += 1
        rollout.key_sha256, rollout.deadline = digest(key), moment + timedelta(seconds=seconds)
        tasks.append(_task(rollout, key))
    return tasks


async def renew(session: AsyncSession, rollout_id: str, key: str | None) -> None:
    await _renew(session, await _of_key(session, rollout_id, key))


async def _renew(session: AsyncSession, rollout: AgentRollout) -> None:
    current = and_(AgentRollout.id == rollout.id, AgentRollout.key_sha256 == rollout.key_sha256)
    await session.execute(update(AgentRollout).where(current).values(heartbeat_at=now()))


async def open_rollout(session: AsyncSession, rollout_id: str, key: str | None) -> OpenRollout:
    """The open rollout of a key; counts as its runner's heartbeat. Raises StateConflict `rollout_ended`."""
    rollout = await _of_key(session, rollout_id, key)
    unwritten = timedelta(seconds=rollout.limits["heartbeat_seconds"] / 4)
    if rollout.heartbeat_at is None or rollout.heartbeat_at < now() - unwritten:
        await _renew(session, rollout)
    return OpenRollout(rollout.id, TrainerAttempt(rollout.job_id, rollout.attempt), rollout.try_no)


async def finish(session: AsyncSession, rollout_id: str, key: str | None, body: EndRollout) -> None:
    rollout = await _of_key(session, rollout_id, key, lock=True)
    if body.released:
        await _lose(session, rollout)
    elif body.error is not None:
        await _end(session, rollout, "agent_error", message=body.error[:_MOST_MESSAGE])
    else:
        await _end(session, rollout, "ok", reward=body.reward)


async def _of_key(
    session: AsyncSession, rollout_id: str, key: str | None, *, lock: bool = False
) -> AgentRollout:
    query = (
        select(AgentRollout)
        .join(Job, and_(Job.id == AgentRollout.job_id, Job.attempt == AgentRollout.attempt, ALIVE))
        .where(
            AgentRollout.id == rollout_id,
            AgentRollout.key_sha256 == digest(key or ""),
            AgentRollout.state == "taken",
            AgentRollout.deadline > now(),
        )
    )
    if lock:
        query = query.with_for_update(of=AgentRollout)
    rollout = await session.scalar(query.execution_options(populate_existing=True))
    if rollout is None:
        raise rollout_ended()
    return rollout


def _task(rollout: AgentRollout, key: str) -> AgentTask:
    task, limits = AgentTaskInput.model_validate(rollout.task), rollout.limits
    return AgentTask(
        rollout_id=rollout.id,
        api_key=key,
        item=task.item,
        messages=task.messages,
        tools=task.tools,
        split=task.split,
        step=task.step,
        heartbeat_seconds=limits["heartbeat_seconds"],
        rollout_seconds=limits["rollout_seconds"],
    )


async def _lose(session: AsyncSession, rollout: AgentRollout) -> None:
    if rollout.try_no >= rollout.limits["tries"]:
        await _end(
            session, rollout, "agent_lost", message=f"{rollout.try_no} runners did not finish the rollout."
        )
        return
    rollout.state, rollout.key_sha256 = "waiting", None
    await forget_callers(session, [rollout.id])
    await notify(session, runners_topic(rollout.job_id))


async def _end(
    session: AsyncSession,
    rollout: AgentRollout,
    status: EndStatus,
    *,
    reward: float | None = None,
    message: str | None = None,
) -> None:
    rollout.state, rollout.key_sha256 = "ended", None
    rollout.outcome = {"status": status, "reward": reward, "message": message}
    await forget_callers(session, [rollout.id])
    await notify(session, TrainerAttempt(rollout.job_id, rollout.attempt).topic)


def _of(attempt: TrainerAttempt) -> ColumnElement[bool]:
    return and_(AgentRollout.job_id == attempt.job_id, AgentRollout.attempt == attempt.attempt)
