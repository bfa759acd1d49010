"""Claims of jobs: a row lock decides which worker runs a job; attempt numbers exclude earlier attempts."""

import secrets
from collections.abc import Sequence

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import digest
from backend.base_models import service as base_models
from backend.data.sealing import Sealer
from backend.jobs.lifecycle import budgets, fair_queue
from backend.jobs.lifecycle.best_checkpoint import rank_checkpoints
from backend.jobs.lifecycle.changes import scheduled
from backend.jobs.lifecycle.fork import BEFORE_ATTEMPTS
from backend.jobs.lifecycle.transitions import append_event, change_status, lease_end
from backend.jobs.monitoring import event_store
from backend.judges import service as judges
from backend.models import (
    Attempt,
    Checkpoint,
    Dataset,
    FindingRow,
    Job,
    JobReward,
    MetricPoint,
    MetricSeries,
    ResumeState,
    RewardRevision,
    StepRollouts,
)
from reinforge.dataset import number_columns
from reinforge.grading.multi import Grader, leaves
from reinforge.grading.multi import judges as judges_named
from reinforge.grading.source import parse_grader
from reinforge.grading.types import EndpointGrader
from reinforge.records import Blob, ForkStart
from reinforge.schemas.worker_api import Claim, Claimed, ClaimedReward
from reinforge.states import JobStatus
from reinforge.system import tracing

HELD_OUT_REWARD = "held_out/reward_mean"
NOTHING = -1


async def claim(session: AsyncSession, body: Claim, sealer: Sealer, lease_seconds: float) -> Claimed | None:
    job = await _find(session, body.job)
    while job is not None and await budgets.enforce(session, job):
        job = await _find(session, body.job)
    if job is None:
        return None
    resume = await session.scalar(
        select(ResumeState).where(ResumeState.job_id == job.id).order_by(ResumeState.step.desc()).limit(1)
    )
    step = resume.step if resume else 0
    if job.attempt > 0:
        await _rewind(session, job, resume.step if resume else NOTHING)
    token = secrets.token_urlsafe(32)
    job.attempt += 1
    job.lease_until = lease_end(lease_seconds)
    session.add(
        Attempt(
            job_id=job.id,
            number=job.attempt,
            worker_id=body.worker,
            token_sha256=digest(token),
            resume_step=step,
        )
    )
    _trace_queue(job)
    await change_status(session, job, JobStatus.STARTING)
    await fair_queue.served(session, job)
    return await _claimed(session, job, token, resume, sealer, lease_seconds)


async def _find(session: AsyncSession, id: str | None) -> Job | None:
    if id is None:
        return await fair_queue.next_job(session)
    query = select(Job).where(Job.id == id, Job.status == JobStatus.QUEUED)
    job: Job | None = await session.scalar(query.with_for_update(skip_locked=True))
    return job


async def _claimed(
    session: AsyncSession,
    job: Job,
    token: str,
    resume: ResumeState | None,
    sealer: Sealer,
    lease_seconds: float,
) -> Claimed:
    rewards = await _rewards(session, job)
    connections, keys = await judges.delivered(session, job.project_id, _judge_names(job, rewards), sealer)
    model = await base_models.of(session, job)
    dataset = await session.get_one(Dataset, job.dataset_id)
    held_out = await session.get_one(Dataset, job.held_out_dataset_id) if job.held_out_dataset_id else None
    return Claimed(
        job=job.id,
        attempt=job.attempt,
        job_token=token,
        lease_seconds=lease_seconds,
        spec=job.resolved_spec,
        model_source=model.source,
        hub_token=await base_models.hub_token(session, model.key, sealer),
        model_sha256=job.model_sha256,
        dataset=Blob(sha256=dataset.sha256, bytes=dataset.bytes),
        dataset_format=dataset.format,
        dataset_numbers=number_columns(dataset.format, dataset.columns),
        held_out=Blob(sha256=held_out.sha256, bytes=held_out.bytes) if held_out else None,
        held_out_format=held_out.format if held_out else None,
        held_out_numbers=number_columns(held_out.format, held_out.columns) if held_out else [],
        rewards=rewards,
        judges=connections,
        judge_keys=keys,
        signing_secret=judges.signing_secret(job.project_id, sealer)
        if _needs_signing(job, rewards)
        else None,
        resume=Blob(sha256=resume.sha256, bytes=resume.bytes) if resume else None,
        resume_step=resume.step if resume else 0,
        changes=await scheduled(session, job.id),
        fork=_fork(job, resume),
        start=Blob(sha256=job.start_sha256, bytes=job.start["bytes"])
        if job.start and job.start_sha256
        else None,
        traceparent=job.trace_context,
    )


def _trace_queue(job: Job) -> None:
    """Record the span of the job's time in the queue."""
    queued_at = job.queued_at.timestamp() if job.queued_at else None
    attributes: tracing.Attributes = {"reinforge.job": job.id, "reinforge.attempt": job.attempt}
    queued = tracing.start("job queued", job.trace_context, at=queued_at, attributes=attributes)
    queued.end()
    job.trace_context = job.trace_context or queued.traceparent


def _fork(job: Job, resume: ResumeState | None) -> ForkStart | None:
    if resume is None or resume.attempt != BEFORE_ATTEMPTS:
        return None
    return ForkStart(step=resume.step, carried=job.carried or [])


async def _rewards(session: AsyncSession, job: Job) -> list[ClaimedReward]:
    rows = await session.execute(
        select(JobReward, RewardRevision.source)
        .outerjoin(
            RewardRevision,
            (RewardRevision.reward_id == JobReward.reward_id)
            & (RewardRevision.revision == JobReward.revision),
        )
        .where(JobReward.job_id == job.id)
        .order_by(JobReward.position)
    )
    return [
        ClaimedReward(
            name=reward.name,
            kind="grader" if reward.kind == "grader" else "python",
            source=reward.source if reward.source is not None else stored,
            revision=f"{reward.reward_id}@{reward.revision}"
            if reward.reward_id
            else f"sha256:{reward.sha256}",
        )
        for reward, stored in rows
    ]


def _judge_names(job: Job, rewards: Sequence[ClaimedReward]) -> set[str]:
    graders = [grader for reward in rewards if (grader := _grader(reward)) is not None]
    names = {name for grader in graders for name in judges_named(grader)}
    for reward in job.resolved_spec["rewards"]:
        names |= {str(declared["model"]) for declared in reward.get("judges", {}).values()}
    return names


def _needs_signing(job: Job, rewards: Sequence[ClaimedReward]) -> bool:
    """Whether the worker signs requests to a scoring endpoint or a tool server."""
    if any(source["type"] == "mcp" for source in job.resolved_spec.get("environment", {}).get("sources", ())):
        return True
    graders = [grader for reward in rewards if (grader := _grader(reward)) is not None]
    return any(isinstance(part, EndpointGrader) for grader in graders for part in leaves(grader).values())


def _grader(reward: ClaimedReward) -> Grader | None:
    return parse_grader(reward.source) if reward.kind == "grader" else None


async def _rewind(session: AsyncSession, job: Job, step: int) -> None:
    """Delete what was recorded after `step`, except log lines and status events."""
    series = select(MetricSeries.id).where(MetricSeries.job_id == job.id)
    await session.execute(
        delete(MetricPoint).where(MetricPoint.series_id.in_(series), MetricPoint.step > step)
    )
    for table in (StepRollouts, Checkpoint, FindingRow, ResumeState):
        await session.execute(delete(table).where(table.job_id == job.id, table.step > step))
    await event_store.forget_after(session, job.id, step)
    job.step = max(step, 0)
    newest = (
        select(MetricPoint.value)
        .join(MetricSeries, MetricSeries.id == MetricPoint.series_id)
        .where(
            MetricSeries.job_id == job.id,
            MetricSeries.kind == "held_out",
            MetricSeries.key == HELD_OUT_REWARD,
        )
        .order_by(MetricPoint.step.desc())
        .limit(1)
    )
    job.held_out_reward = await session.scalar(newest)
    await rank_checkpoints(session, job)
    await append_event(session, job, "rewind", {"to_step": job.step})
