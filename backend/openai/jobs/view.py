"""Jobs in OpenAI's format."""

from datetime import timedelta
from typing import Any

from backend.jobs.view import progress
from backend.models import Job, Project, now
from backend.openai import model_names
from backend.openai.conventions import seconds
from backend.openai.jobs.request import training_rows
from reinforge.imports import hyperparameters
from reinforge.reward_spec import PythonReward
from reinforge.schemas.openai_jobs import FineTuningJob, JobErrorView
from reinforge.spec import JobSpec
from reinforge.states import FINAL, JobStatus

S = JobStatus
STATUSES = {
    S.VALIDATING: "validating_files",
    S.STARTING: "running",
    S.CANCELLING: "running",
}


def job_view(
    job: Job, project: Project, trained_tokens: int | None, rows: int, hidden_size: int | None
) -> FineTuningJob:
    spec = job.resolved_spec
    status = JobStatus(job.status)
    remaining_seconds = progress(job).eta_seconds
    return FineTuningJob(
        id=job.id,
        created_at=seconds(job.created_at),
        error=_error(job) if status is S.FAILED else None,
        fine_tuned_model=model_names.tuned(job, project) if job.adapter_id else None,
        finished_at=seconds(job.finished_at) if job.finished_at and status in FINAL else None,
        model=(job.openai or {}).get("model") or job.model_id,
        organization_id=job.project_id,
        seed=spec["seed"],
        status=STATUSES.get(status, str(status)),
        trained_tokens=trained_tokens if status in FINAL else None,
        training_file=job.dataset_id,
        validation_file=job.held_out_dataset_id,
        estimated_finish=None
        if remaining_seconds is None
        else seconds(now() + timedelta(seconds=remaining_seconds)),
        metadata=spec["metadata"],
        method={"type": "reinforcement", "reinforcement": method(job, rows, hidden_size)},
        user_provided_suffix=(job.openai or {}).get("suffix"),
    )


def method(job: Job, rows: int, hidden_size: int | None) -> dict[str, Any]:
    if job.openai is not None:
        reinforcement: dict[str, Any] = job.openai["reinforcement"]
        rate = {"learning_rate": job.resolved_spec["optimizer"]["learning_rate"]}
        return reinforcement | {"hyperparameters": rate | reinforcement["hyperparameters"]}
    spec = JobSpec.model_validate(job.resolved_spec)
    return {
        "grader": _grader(spec),
        "hyperparameters": hyperparameters.of_spec(
            spec, training_rows(rows, job.held_out_dataset_id, spec.data.held_out_rows), hidden_size
        ),
        "response_format": None,
    }


def _grader(spec: JobSpec) -> dict[str, Any]:
    graders = {}
    for reward in spec.rewards:
        fields = reward.model_dump(mode="json", exclude={"weight", "on_error"}, exclude_none=True)
        if isinstance(reward, PythonReward):
            fields = {"source": "", **fields}  # a stored one is named by `reward` and `revision`
        graders[reward.name] = fields
    if len(graders) == 1:
        (only,) = graders.values()
        return only
    formula = " + ".join(f"{reward.weight:g} * {reward.name}" for reward in spec.rewards)
    return {"type": "multi", "name": "rewards", "graders": graders, "calculate_output": formula}


def _error(job: Job) -> JobErrorView:
    error = job.error or {}
    message = error.get("message") or "The job has failed."
    if hint := error.get("hint"):
        message = f"{message} {hint}"
    return JobErrorView(code=str(error.get("code") or job.reason or "failed"), message=message)
