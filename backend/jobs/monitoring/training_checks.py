"""Training checks of jobs, from stored series; problems are stored as findings."""

import time
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.base_models.service import hidden_size
from backend.jobs import repository
from backend.jobs.lifecycle import fork
from backend.jobs.monitoring import finding_actions, findings, metrics
from backend.models import BaseModel, FindingRow, Job, MetricSeries
from backend.webhooks.events import queue_finding_event
from reinforge.base_models.learning_rate import auto_learning_rate
from reinforge.diagnosis.finding import JobFinding, Remedy
from reinforge.diagnosis.job_input import JobInput, is_read
from reinforge.diagnosis.training_check import Context, check_training, reported
from reinforge.diagnosis.verdict import Points
from reinforge.schemas.training_checks import JobTrainingCheck
from reinforge.states import FINAL, JobStatus

SOURCE = findings.SOURCE
CHECKS_PER_DOUBLING = 50
"""Checks per doubling of the step: every step until step 100, every second until 200, and so on."""
_BUCKETS = 1500
_EVALUATION = "held_out/"

Emit = Callable[..., Awaitable[int]]


def is_due(before: int, after: int) -> bool:
    stride = 1 << max(0, (after // CHECKS_PER_DOUBLING).bit_length() - 1)
    return after // stride != before // stride


async def view(session: AsyncSession, job: Job) -> JobTrainingCheck:
    verdict = job.verdict or {}
    stopped = job.status in FINAL or job.status == JobStatus.PAUSED
    read = await job_input(session, job, ended=stopped)
    check = check_training(read, Context(verdict.get("outcome"), stopped=stopped))
    fields = check.model_dump(exclude={"message"})
    message = verdict.get("message", check.message)
    return JobTrainingCheck(
        **fields, message=message, job=job.id, step=job.step, verdict=verdict.get("outcome")
    )


async def refresh(session: AsyncSession, job: Job, emit: Emit, *, ending: bool = False) -> None:
    if job.purpose != "train":
        return
    read = await job_input(session, job, ended=ending)
    problems = reported(read)
    rows = await _rows(session, job.id)
    current = [item for item in problems if item.severity != "info"]
    for rank, problem in enumerate(current):
        problem.remedies = [remedy for remedy in problem.remedies if _applicable(job, remedy)]
        row = rows.get(problem.code)
        new = row is None or row.resolved_step is not None
        if row is None:
            await _add(session, job, problem, rank, emit)
        else:
            await _update(row, job, problem, rank, emit)
        if new and not ending:
            await finding_actions.act(session, job, problem, read)
    codes = {problem.code for problem in current}
    for code, row in rows.items():
        if code not in codes and row.resolved_step is None:
            await _resolve(row, job, emit)


def _applicable(job: Job, remedy: Remedy) -> bool:
    """Whether the remedy's request would be valid; presets refuse some settings."""
    return remedy.kind != "fork" or fork.accepts(job.resolved_spec, remedy.step or 0, remedy.set)


async def job_input(session: AsyncSession, job: Job, *, ended: bool) -> JobInput:
    facts = job.facts or {}
    model = await session.get(BaseModel, job.model_key)
    size = hidden_size(model) if model is not None else None
    return JobInput(
        series=await _series(session, job.id),
        spec=job.resolved_spec,
        held_out_rows=_count(facts.get("held_out_rows")),
        leaked_rows=_count(facts.get("leaked_rows")),
        training_prompts=_count(facts.get("training_prompts")),
        starts=[start.step for start in await fork.starts(session, job.id)],
        best_step=job.best_step,
        checkpoints=[row.step for row in await repository.checkpoints(session, job.id)],
        auto_rate=auto_learning_rate(size, _updates(job.resolved_spec)) if size else None,
        ended=ended,
    )


def _updates(spec: dict[str, Any]) -> int:
    return int(spec.get("algorithm", {}).get("updates_per_step", 1))


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) else None


async def _series(session: AsyncSession, job_id: str) -> dict[str, Points]:
    stored = await session.scalars(select(MetricSeries.key).where(MetricSeries.job_id == job_id).distinct())
    keys = tuple(filter(is_read, stored))
    content, _ = await metrics.read(session, job_id, metrics.MetricFilter(buckets=_BUCKETS, keys=keys))
    return {
        series["key"]: points
        for series in orjson.loads(content)["series"]
        if (series["kind"] == "held_out") == series["key"].startswith(_EVALUATION)
        and (points := _defined(series))
    }


def _defined(series: dict[str, Any]) -> list[tuple[int, float]]:
    pairs = zip(series["steps"], series["values"], strict=True)
    return [(step, value) for step, value in pairs if value is not None]


async def _rows(session: AsyncSession, job_id: str) -> dict[str, FindingRow]:
    query = select(FindingRow).where(FindingRow.job_id == job_id)
    return {row.code: row for row in await session.scalars(query) if row.source == SOURCE}


def _fields(problem: JobFinding, step: int, rank: int) -> dict[str, Any]:
    return {
        "code": problem.code,
        "severity": problem.severity,
        "step": step,
        "message": f"{problem.title}: {problem.message}",
        "hint": problem.advice,
        "evidence": findings.stored_evidence(problem, rank),
    }


async def _add(session: AsyncSession, job: Job, problem: JobFinding, rank: int, emit: Emit) -> None:
    fields = _fields(problem, job.step, rank)
    seq = await emit("finding", fields, step=job.step)
    session.add(FindingRow(job_id=job.id, seq=seq, ts=time.time(), **fields))
    if problem.cause is None:  # one message for what broke, none for what follows from it
        await queue_finding_event(session, job, fields)


async def _update(row: FindingRow, job: Job, problem: JobFinding, rank: int, emit: Emit) -> None:
    returned = row.resolved_step is not None
    fields = _fields(problem, job.step if returned else row.step, rank)
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
