"""Views of jobs and checkpoints in the API."""

from statistics import median, quantiles
from typing import Any

from backend.models import Checkpoint as CheckpointRow
from backend.models import Job as JobRow
from reinforge.diagnosis.verdict import Verdict
from reinforge.presets import PRESETS
from reinforge.schemas.checkpoints import Checkpoint
from reinforge.schemas.jobs import ForkedFrom, Job, JobDetail, JobError, Progress, StartedFrom
from reinforge.states import FINAL, LEASED, JobStatus

RECENT_STEPS = 20


def progress(job: JobRow) -> Progress:
    """Progress and remaining time: steps left × median recent step time."""
    status = JobStatus(job.status)
    percent = 100.0 if status is JobStatus.SUCCEEDED else 100.0 * job.step / max(job.steps, 1)
    view = Progress(step=job.step, steps=job.steps, percent=min(percent, 100.0))
    if status in LEASED:
        view.phase = job.phase
        times = job.recent_step_seconds
        if times:
            remaining_steps = max(job.steps - job.step, 0)
            view.eta_seconds = remaining_steps * median(times)
            tenths = quantiles(times, n=10, method="inclusive") if len(times) > 1 else [times[0]]
            view.eta_low_seconds, view.eta_high_seconds = (
                remaining_steps * tenths[0],
                remaining_steps * tenths[-1],
            )
    return view


def _fields(job: JobRow) -> dict[str, object]:
    return {
        "id": job.id,
        "name": job.name,
        "project": job.project_id,
        "status": job.status,
        "reason": job.reason,
        "error": JobError.model_validate(job.error) if job.error else None,
        "progress": progress(job),
        "attempt": job.attempt,
        "model": job.model_id,
        "dataset": job.dataset_id,
        "preset_title": _preset_title(job.resolved_spec),
        "reward_names": [reward["name"] for reward in job.resolved_spec["rewards"]],
        "held_out_reward_before": job.held_out_reward_before,
        "held_out_reward": job.held_out_reward,
        "held_out_includes_shaping": job.held_out_includes_shaping,
        "best_step": job.best_step,
        "verdict": job.verdict["outcome"] if job.verdict else None,
        "verdict_detail": Verdict.model_validate(job.verdict) if job.verdict else None,
        "adapter": job.adapter_id,
        "jail": job.jail,
        "forked_from": _forked_from(job),
        "started_from": StartedFrom.model_validate(job.start) if job.start else None,
        "created_at": job.created_at,
        "started_at": job.started_at,
        "finished_at": job.finished_at,
        "created_by": job.created_by,
        "tags": job.tags,
        "archived": job.archived_at is not None,
    }


def _forked_from(job: JobRow) -> ForkedFrom | None:
    if job.forked_from_id is None or job.forked_step is None:
        return None
    return ForkedFrom.model_validate(
        {"job": job.forked_from_id, "step": job.forked_step, "carried": job.carried or []}
    )


def _preset_title(spec: dict[str, Any]) -> str | None:
    name = spec["algorithm"].get("preset")
    preset = PRESETS.get(name)
    return preset.title if preset else name


def job_view(job: JobRow) -> Job:
    return Job.model_validate(_fields(job))


def job_detail(job: JobRow) -> JobDetail:
    return JobDetail.model_validate(
        _fields(job)
        | {
            "notes": job.notes,
            "spec": job.spec,
            "resolved_spec": job.resolved_spec,
            "facts": job.facts,
            "warnings": job.warnings,
        }
    )


def checkpoint_view(checkpoint: CheckpointRow, job: JobRow) -> Checkpoint:
    return Checkpoint(
        id=checkpoint.id,
        job=checkpoint.job_id,
        step=checkpoint.step,
        bytes=checkpoint.bytes,
        held_out_reward=checkpoint.held_out_reward,
        best=checkpoint.best,
        final=checkpoint.final,
        adapter=job.adapter_id if checkpoint.final and job.status in FINAL else None,
        created_at=checkpoint.created_at,
    )
