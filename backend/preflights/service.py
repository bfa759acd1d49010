"""Reports of pre-flights, from the records of their jobs."""

import anyio.to_thread
from sqlalchemy.ext.asyncio import AsyncSession

from backend.jobs.monitoring import step_tables
from backend.jobs.monitoring.object_cache import ObjectCache
from backend.jobs.view import job_view
from backend.models import Job
from backend.preflights import repository
from reinforge.errors import NotFound
from reinforge.preflight import Observed, ObservedCompletion, PreflightReport, assess
from reinforge.schemas.preflights import Preflight
from reinforge.spec import JobSpec
from reinforge.states import JobStatus


async def find(session: AsyncSession, project_id: str, id: str) -> Job:
    job = await repository.find(session, project_id, id)
    if job is None:
        raise NotFound(f"There is no pre-flight {id}.", code="preflight_not_found", param="id")
    return job


def view(job: Job, report: PreflightReport | None) -> Preflight:
    job_state = job_view(job)
    return Preflight(
        id=job.id,
        status=job_state.status,
        reason=job_state.reason,
        error=job_state.error,
        progress=job_state.progress,
        spec=job.spec,
        report=report,
        created_at=job_state.created_at,
        finished_at=job_state.finished_at,
    )


async def report(session: AsyncSession, cache: ObjectCache, job: Job) -> PreflightReport | None:
    observations = await observed(session, cache, job)
    return None if observations is None else assessed(job, observations)


def assessed(job: Job, observations: Observed) -> PreflightReport:
    spec = JobSpec.model_validate(job.spec).model_copy(update={"model": job.model_id})
    return assess(spec, observations)


async def observed(session: AsyncSession, cache: ObjectCache | None, job: Job) -> Observed | None:
    judged = job.status == JobStatus.SUCCEEDED or (
        job.status == JobStatus.PAUSED and job.reason == "reward_errors"
    )
    if not judged or job.step == 0:
        return None
    times = await repository.times(session, job.id)
    observations = Observed(
        steps=await repository.step_values(session, job.id),
        facts=job.facts,
        load_seconds=times.load_seconds,
        save_seconds=times.save_seconds,
    )
    groups: dict[tuple[int, int], list[ObservedCompletion]] = {}
    for row in await repository.completions(session, job.id):
        sampled = ObservedCompletion(
            row.reward, row.length, row.finish_reason == "length", row.error, row.text
        )
        groups.setdefault((row.step, row.prompt_no), []).append(sampled)
    observations.groups = list(groups.values())
    if cache is not None:
        for sha256 in await repository.tables(session, job.id):
            async with cache.file(sha256) as path:
                observations.reward_ms += await anyio.to_thread.run_sync(_reward_ms, str(path))
    return observations


def _reward_ms(path: str) -> list[float]:
    with step_tables.opened(path) as file:
        cells = [row["rewards"] for row in step_tables.every_row(file, ["rewards"])]
        return [sum(result["wall_ms"] for result in step_tables.value_of(cell, "[]")) for cell in cells]
