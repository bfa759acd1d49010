"""Rolls a running job back to a saved step; its next attempt continues there with a lower learning rate."""

import time
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.jobs.lifecycle import changes
from backend.jobs.lifecycle.transitions import append_event, change_status, end_attempt_here
from backend.models import FindingRow, Job, LogLineRow, ResumeState
from reinforge.algorithm.live_settings import live_settings
from reinforge.diagnosis.job_input import LEARNING_RATE
from reinforge.schemas.job_changes import SettingChangeCreate
from reinforge.states import JobStatus

ROLLED_BACK = "rolled_back"
"""Outcome of the attempt that is rolled back, and reason of the queued job."""


async def step_before(session: AsyncSession, job: Job, step: int) -> int | None:
    """The newest saved step before `step`. Without one: 0, the job's start, or None for a fork."""
    states = select(ResumeState.step).where(ResumeState.job_id == job.id, ResumeState.step < step)
    newest: int | None = await session.scalar(states.order_by(ResumeState.step.desc()).limit(1))
    if newest is None and job.forked_step is None:
        return 0
    return newest


async def roll_back(
    session: AsyncSession, job: Job, to_step: int, rate: float, *, message: str, created_by: str
) -> None:
    """Queue a locked, running job again, to continue after `to_step` with the learning rate `rate`, limited
    to half the current rate.

    The next claim by a worker deletes the records of later steps. Prompts and sampling noise repeat, so that
    only the rate differs.
    """
    rate = min(rate, await _rate(session, job) / 2)
    await _lower_rate(session, job, rate, to_step + 1, created_by)
    await session.execute(delete(ResumeState).where(ResumeState.job_id == job.id, ResumeState.step > to_step))
    await end_attempt_here(session, job, ROLLED_BACK)
    before = job.queued_at
    await change_status(session, job, JobStatus.QUEUED, reason=ROLLED_BACK)
    job.queued_at = before
    fields = {
        "ts": time.time(),
        "level": "warning",
        "message": f"{message} Diagnosis rolls the job back to step {to_step} and lowers its learning rate, as "
        "set by diagnosis.on_finding.",
        "step": job.step,
        "attempt": job.attempt,
    }
    seq = await append_event(session, job, "log", {"seq": job.seq + 1, **fields})
    session.add(LogLineRow(job_id=job.id, seq=seq, **fields))
    await _add_finding(session, job, to_step, rate, message)


async def _add_finding(session: AsyncSession, job: Job, to_step: int, rate: float, message: str) -> None:
    """Record the roll back as a finding at `to_step`, since findings of later steps are deleted."""
    fields: dict[str, Any] = {
        "code": ROLLED_BACK,
        "severity": "info",
        "step": to_step,
        "message": f"{message} The job continued after step {to_step} with the learning rate {rate:.3g}.",
        "hint": None,
        "evidence": {"source": "diagnosis", "title": "Rolled back", "learning rate": rate},
    }
    seq = await append_event(session, job, "finding", fields, step=to_step)
    session.add(FindingRow(job_id=job.id, seq=seq, ts=time.time(), **fields))


async def _rate(session: AsyncSession, job: Job) -> float:
    return live_settings(await changes.spec_now(session, job))[LEARNING_RATE]


async def _lower_rate(session: AsyncSession, job: Job, rate: float, step: int, created_by: str) -> None:
    body = SettingChangeCreate(setting=LEARNING_RATE, value=rate)
    change = await changes.add_setting(session, job, body, created_by)
    await changes.mark_applied(session, job, change.id, step)
