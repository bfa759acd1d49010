"""Validation of a sweep's jobs before it is stored."""

from collections.abc import Iterator
from functools import partial

import anyio.to_thread

from backend.base_models import service as base_models
from backend.jobs import service as jobs
from backend.jobs.submission.submit import Draft, SubmitServices
from backend.jobs.submission.validate_on_worker import validate
from backend.jobs.submission.validate_references import look_up
from backend.models import SweepRow, SweepTrialRow
from reinforge.errors import InvalidInput
from reinforge.spec import JobSpec
from reinforge.sweeps import SweepSpec, Variation, check, job_of
from reinforge.sweeps.variations import blamed, first_variations, validated

RESOLVED_JOBS = 50
MOST_METADATA = 16
ON_WORKERS = 3
"""Number of jobs that workers check: the first that differ in model, data, rewards or rollout."""


async def validate_sweep(services: SubmitServices, project_id: str, spec: SweepSpec) -> list[str]:
    await anyio.to_thread.run_sync(partial(check, spec))
    warnings: list[str] = []
    checked: set[str] = set()
    for variation in _first(spec):
        job = validated(spec, variation, job_of(spec, variation, "sweep"))
        try:
            warnings += await _validate_job(services, project_id, job, checked)
        except InvalidInput as error:
            place, hint = error.param or "", error.hint
            raise blamed(spec, variation, place, error.message, hint, error.code) from error
    return list(dict.fromkeys(warnings))


def _first(spec: SweepSpec) -> Iterator[Variation]:
    seeds = spec.seed_values
    for variation in first_variations(spec, RESOLVED_JOBS):
        if variation.seed == seeds[0]:
            yield variation


async def _validate_job(
    services: SubmitServices, project_id: str, spec: JobSpec, checked: set[str]
) -> list[str]:
    needs = spec.model_dump_json(include={"model", "data", "rewards", "rollout"})
    on_worker = needs not in checked and len(checked) < ON_WORKERS
    if on_worker:
        await base_models.ensure_builtin(services.database, services.calls, spec.model)
    async with services.database.transaction() as session:
        plan = await look_up(session, project_id, spec)
    if on_worker:
        checked.add(needs)
        cache = jobs.dataset_cache(services.settings)
        await validate(plan, services.calls, services.objects, cache)
    return list(plan.warnings)


def draft_of(sweep: SweepRow, trial: SweepTrialRow) -> Draft:
    spec = SweepSpec.model_validate(sweep.spec)
    variation = Variation(trial.number, trial.setting, trial.name, trial.parameters, trial.seed)
    raw = job_of(spec, variation, sweep.name)
    metadata = (raw.get("metadata") or {}) | {"sweep": sweep.id, "trial": str(trial.number)}
    if len(metadata) <= MOST_METADATA:
        raw["metadata"] = metadata
    return Draft(validated(spec, variation, raw), raw)
