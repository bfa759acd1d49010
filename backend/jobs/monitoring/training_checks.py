"""Training checks of jobs, from stored series; problems are stored as findings.

A problem is one finding: later checks update its row or mark it resolved. Only its appearance,
return and resolution are events.
"""

import time
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.jobs.monitoring import findings, metrics, verdicts
from backend.models import FindingRow, Job
from backend.webhooks.events import queue_finding_event
from reinforge.diagnosis.training_check import Context, TrainingCheck, check_training
from reinforge.diagnosis.training_rules import KEYS, PROBLEM_CODES, Observation
from reinforge.diagnosis.verdict import Outcome, Points, judge
from reinforge.schemas.training_checks import JobTrainingCheck
from reinforge.states import FINAL, JobStatus

SOURCE = findings.SOURCE
CHECKS_PER_DOUBLING = 50
"""After twice as many steps, checks are half as frequent."""
_BUCKETS = 1500
_EVALUATION = "held_out/"

Emit = Callable[..., Awaitable[int]]


def is_due(before: int, after: int) -> bool:
    stride = 1 << max(0, (after // CHECKS_PER_DOUBLING).bit_length() - 1)
    return after // stride != before // stride


async def view(session: AsyncSession, job: Job) -> JobTrainingCheck:
    verdict = job.verdict or {}
    stopped = job.status in FINAL or job.status == JobStatus.PAUSED
    check = await _check(session, job, verdict.get("outcome"), stopped=stopped)
    fields = check.model_dump(exclude={"message"})
    message = verdict.get("message", check.message)
    return JobTrainingCheck(
        **fields, message=message, job=job.id, step=job.step, verdict=verdict.get("outcome")
    )


async def refresh(session: AsyncSession, job: Job, emit: Emit, *, ending: bool = False) -> None:
    if job.purpose != "train":
        return
    outcome: Outcome | None = None
    if ending and job.step > 0:
        outcome = judge(await verdicts.evidence(session, job)).outcome
    check = await _check(session, job, outcome, stopped=ending)
    problems = {item.code: item for item in check.observations if item.severity in ("error", "warning")}
    rows = await _rows(session, job.id)
    for code, problem in problems.items():
        row = rows.get(code)
        if row is None:
            await _add(session, job, problem, emit)
        else:
            await _update(row, job, problem, emit)
    for code, row in rows.items():
        if code not in problems and row.resolved_step is None:
            await _resolve(row, job, emit)


async def _check(session: AsyncSession, job: Job, outcome: Outcome | None, *, stopped: bool) -> TrainingCheck:
    rows = (job.facts or {}).get("held_out_rows")
    context = Context(rows=rows if isinstance(rows, int) else None, outcome=outcome, stopped=stopped)
    return check_training(await _series(session, job.id), context)


async def _series(session: AsyncSession, job_id: str) -> dict[str, Points]:
    content, _ = await metrics.read(session, job_id, metrics.MetricFilter(buckets=_BUCKETS, keys=KEYS))
    return {
        series["key"]: [
            (step, value)
            for step, value in zip(series["steps"], series["values"], strict=True)
            if value is not None
        ]
        for series in orjson.loads(content)["series"]
        if (series["kind"] == "held_out") == series["key"].startswith(_EVALUATION)
    }


async def _rows(session: AsyncSession, job_id: str) -> dict[str, FindingRow]:
    query = select(FindingRow).where(FindingRow.job_id == job_id, FindingRow.code.in_(PROBLEM_CODES))
    return {row.code: row for row in await session.scalars(query) if row.source == SOURCE}


def _fields(problem: Observation, step: int) -> dict[str, Any]:
    return {
        "code": problem.code,
        "severity": problem.severity,
        "step": step,
        "message": f"{problem.title}: {problem.message}",
        "hint": problem.hint,
        "evidence": {
            "source": SOURCE,
            "title": problem.title,
            "since_step": problem.step,
            "resolved_step": None,
        },
    }


async def _add(session: AsyncSession, job: Job, problem: Observation, emit: Emit) -> None:
    fields = _fields(problem, job.step)
    seq = await emit("finding", fields, step=job.step)
    session.add(FindingRow(job_id=job.id, seq=seq, ts=time.time(), **fields))
    await queue_finding_event(session, job, fields)


async def _update(row: FindingRow, job: Job, problem: Observation, emit: Emit) -> None:
    returned = row.resolved_step is not None
    fields = _fields(problem, job.step if returned else row.step)
    for name, value in fields.items():
        setattr(row, name, value)
    if returned:
        await emit("finding", fields, step=job.step)


async def _resolve(row: FindingRow, job: Job, emit: Emit) -> None:
    row.evidence = row.evidence | {"resolved_step": job.step}
    fields = {
        "code": row.code,
        "severity": "info",
        "step": job.step,
        "message": f"Resolved: {row.evidence['title']}.",
        "hint": None,
        "evidence": row.evidence,
    }
    await emit("finding", fields, step=job.step)
