"""Suggested values for a job and an estimate of its duration, from measurements of the project and its
workers.
"""

import statistics
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError
from sqlalchemy.ext.asyncio import AsyncSession

from backend.base_models import service as base_models
from backend.datasets import service as datasets
from backend.http.errors import validation_error
from backend.job_defaults import repository
from backend.job_defaults.lengths import measured_texts
from backend.jobs.submission.engines import auto_engine
from backend.jobs.submission.start_adapter import start_of
from backend.jobs.submission.submit import SubmitServices
from backend.models import BaseModel, Dataset, Job
from backend.preflights import service as preflights
from reinforge.dataset import held_out_count
from reinforge.errors import InvalidInput, NotFound
from reinforge.job_defaults import JobSizes, PreflightSizes, TimeEstimate, duration, filled, job_defaults
from reinforge.job_defaults.duration import EarlierJob
from reinforge.preflight import Observed
from reinforge.preflight.assess import sampling_rounds
from reinforge.schemas.job_defaults import JobDefaults
from reinforge.spec import DataSpec, JobSpec

ANY_REWARD = {"type": "python", "name": "reward", "source": "def grade(sample, item):\n    return 0.0\n"}
"""Placeholder for rewards that are not chosen yet."""
MOST_EARLIER = 5
METRICS = ("time/step", "time/generate", "time/score", "completions/length_mean")
NOTE = "No estimate yet: run the pre-flight."


async def suggest(services: SubmitServices, project_id: str, raw: dict[str, Any]) -> JobDefaults:
    spec = _parsed(raw if raw.get("rewards") else raw | {"rewards": [ANY_REWARD]})
    async with services.database.transaction() as session:
        start = await start_of(session, project_id, spec)
        model = start.model if start else await base_models.get_usable(session, project_id, spec.model)
        dataset = await _dataset(session, project_id, spec.data.dataset, "data.dataset")
        rows = await _split(session, project_id, dataset, spec.data)
        engine, devices = await auto_engine(session), await repository.devices(session)
        probes = await repository.preflights(
            session, project_id, model.key, dataset.id, start.sha256 if start else None
        )
        job, observed = await _preflight(session, probes, spec, model) if raw.get("rewards") else (None, None)
    measured = None
    if job is not None and observed is not None:
        measured = PreflightSizes(
            job.id, JobSpec.model_validate(job.spec), preflights.assessed(job, observed)
        )
    sizes = JobSizes(
        parameters=model.parameters,
        context=model.context_length,
        hidden_size=base_models.hidden_size(model),
        rows=rows[0],
        texts=await measured_texts(services, dataset, model, spec.data),
        engine=engine,
        devices=tuple(devices),
        preflight=measured,
    )
    suggested = job_defaults(raw, sizes)
    whole = _parsed(filled(spec.model_dump(mode="json", exclude_unset=True), suggested))
    whole = whole.resolved(engine=engine).model_copy(update={"model": model.id})
    async with services.database.transaction() as session:
        estimate = await _estimate(session, project_id, whole, model, dataset, rows[1], sizes, observed)
    return JobDefaults(
        data=suggested,
        preflight=measured.id if measured else None,
        estimate=estimate,
        estimate_note=NOTE if estimate is None else None,
    )


def _parsed(raw: dict[str, Any]) -> JobSpec:
    try:
        return JobSpec.model_validate(raw)
    except ValidationError as error:
        raise validation_error(error.errors(), raw) from error


async def _dataset(session: AsyncSession, project_id: str, id: str, param: str) -> Dataset:
    try:
        dataset = await datasets.get(session, project_id, id)
    except NotFound as error:
        raise InvalidInput(error.message, code=error.code, hint=error.hint, param=param) from error
    if dataset.rows == 0:
        raise InvalidInput(f"The dataset {id} has no rows.", code="empty_dataset", param=param)
    return dataset


async def _split(session: AsyncSession, project_id: str, dataset: Dataset, data: DataSpec) -> tuple[int, int]:
    if data.held_out is not None:
        held_out = await _dataset(session, project_id, data.held_out, "data.held_out")
        return dataset.rows, held_out.rows
    count = held_out_count(dataset.rows, data.held_out_rows)
    return dataset.rows - count, count


async def _preflight(
    session: AsyncSession, probes: Sequence[Job], spec: JobSpec, model: BaseModel
) -> tuple[Job | None, Observed | None]:
    for job in probes:
        if job.model_sha256 == model.sha256 and _measures(JobSpec.model_validate(job.spec), spec):
            observed = await preflights.observed(session, None, job)
            if observed is not None and observed.groups and observed.steps:
                return job, observed
    return None, None


def _measures(probe: JobSpec, spec: JobSpec) -> bool:
    prompts = {"columns", "prompt_template", "system_prompt"}
    return (
        probe.data.model_dump(include=prompts) == spec.data.model_dump(include=prompts)
        and probe.rewards == spec.rewards
    )


async def _estimate(
    session: AsyncSession,
    project_id: str,
    spec: JobSpec,
    model: BaseModel,
    dataset: Dataset,
    held_out: int,
    sizes: JobSizes,
    observed: Observed | None,
) -> TimeEstimate | None:
    """Time estimate from jobs on this dataset, else from a pre-flight on it, else from jobs on other
    datasets.
    """
    earlier, probed = (
        await _earlier(session, project_id, spec, model, dataset, sizes.devices),
        sizes.preflight,
    )
    estimate = duration.from_jobs(spec, [job for job in earlier if job.same_data], held_out)
    if estimate is None and probed is not None and observed is not None:
        rounds = sampling_rounds(spec, probed.report.groups)
        return duration.from_preflight(probed.id, spec, probed.spec, observed, rounds)
    return estimate or duration.from_jobs(spec, earlier, held_out)


async def _earlier(
    session: AsyncSession,
    project_id: str,
    spec: JobSpec,
    model: BaseModel,
    dataset: Dataset,
    devices: tuple[str, ...],
) -> list[EarlierJob]:
    names = {device.removeprefix("cuda: ") for device in devices}
    engine, selection = spec.rollout.engine, spec.algorithm.selection.type
    jobs = await repository.jobs(session, project_id, model.key, engine, selection, dataset.id)
    usable = [job for job in jobs if (device := job.facts.get("device")) and (not names or device in names)]
    measured = [await _measured(session, job, dataset) for job in usable[:MOST_EARLIER]]
    return [job for job in measured if job is not None]


async def _measured(session: AsyncSession, job: Job, dataset: Dataset) -> EarlierJob | None:
    steps, generate, score, lengths = (await repository.series(session, job, METRICS)).values()
    timed = [seconds for step, seconds in sorted(steps.items()) if step > 1]
    if not timed or not generate or not lengths:
        return None
    rollout = job.resolved_spec["rollout"]
    sampling = statistics.median(generate.values()) + statistics.median(score.values() or [0.0])
    return EarlierJob(
        id=job.id,
        completions_per_step=rollout["prompts_per_step"] * rollout["completions_per_prompt"],
        step_seconds=timed,
        sampling_seconds=sampling,
        tokens=max(1.0, statistics.fmean(lengths.values())),
        load_seconds=await repository.load_seconds(session, job),
        device=str(job.facts["device"]),
        same_data=job.dataset_id == dataset.id,
    )
