"""Long polls of trainers and runners."""

import time

from fastapi import Request
from sqlalchemy.ext.asyncio import AsyncSession

from backend.agents import model_calls, rollouts
from backend.agents.attempts import require_attempt
from backend.agents.model_calls import TrainerAttempt
from backend.data.database import Database
from backend.data.events import Hub
from reinforge.schemas.agent_rollouts import AgentTasks, TakeModelCalls, TakeRollouts, TrainerWork

LOOK_AGAIN_SECONDS = 2.0
"""Seconds between queries of a long poll. A trainer's queries also detect lost runners."""


async def next_work(
    database: Database, hub: Hub, job_id: str, token: str | None, body: TakeModelCalls, request: Request
) -> TrainerWork:
    """Waiting model calls and ended rollouts of an attempt, or nothing after `wait_seconds`."""
    attempt, until = TrainerAttempt(job_id, body.attempt), time.monotonic() + body.wait_seconds
    with hub.subscribe(attempt.topic) as arrived:
        while True:
            async with database.transaction() as session:
                await require_attempt(session, job_id, body.attempt, token)
                work = await _work(session, attempt, body)
            remaining = until - time.monotonic()
            if work.calls or work.ends or remaining <= 0 or await request.is_disconnected():
                return work
            await arrived.wait(min(remaining, LOOK_AGAIN_SECONDS))


async def _work(session: AsyncSession, attempt: TrainerAttempt, body: TakeModelCalls) -> TrainerWork:
    await model_calls.received(session, attempt, body.received_calls)
    await rollouts.forget(session, attempt, body.received_ends)
    calls, ends = await model_calls.waiting_calls(session, attempt), await rollouts.ended(session, attempt)
    if calls or ends:  # what follows can wait for a quiet moment
        return TrainerWork(calls=calls, ends=ends)
    await rollouts.expire(session, attempt)
    return TrainerWork(
        ends=await rollouts.ended(session, attempt), waiting=await rollouts.count_waiting(session, attempt)
    )


async def next_tasks(
    database: Database, hub: Hub, project_id: str, job_id: str, body: TakeRollouts, request: Request
) -> AgentTasks:
    """Rollouts for a runner; none after `wait_seconds` or if the job has ended."""
    until = time.monotonic() + body.wait_seconds
    with hub.subscribe(rollouts.runners_topic(job_id)) as offered:
        while True:
            async with database.transaction() as session:
                job = await rollouts.agent_job(session, project_id, job_id)
                ended = rollouts.has_ended(job)
                gone = await request.is_disconnected()
                data = [] if gone or ended else await rollouts.take(session, job, body.runner, body.max)
            remaining = until - time.monotonic()
            if data or ended or gone or remaining <= 0:
                return AgentTasks(job_status=job.status, ended=ended, data=data)
            await offered.wait(min(remaining, LOOK_AGAIN_SECONDS))
