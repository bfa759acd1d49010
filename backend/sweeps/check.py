"""Check of a sweep while it is entered in a form."""

from typing import Any

import anyio.to_thread
from pydantic import ValidationError
from sqlalchemy.ext.asyncio import AsyncSession

from backend.http.errors import listed_errors
from backend.jobs.submission.validate_references import look_up
from backend.sweeps.samplers import startup_settings
from backend.sweeps.service import advice, require_price
from reinforge.errors import InvalidInput
from reinforge.schemas.job_checks import JobProblem
from reinforge.schemas.sweeps import PlannedTrial, SweepCheck
from reinforge.sweeps import SweepSpec, Variation, check, job_of
from reinforge.sweeps.variations import (
    blamed,
    first_variations,
    number_of_trials,
    validated,
    varied_paths,
)

FIRST_SETTINGS = 12


async def check_sweep(
    session: AsyncSession, project_id: str, raw: dict[str, Any], gpu_hour_price: float | None
) -> SweepCheck:
    try:
        spec = SweepSpec.model_validate(raw)
    except ValidationError as error:
        listed = [JobProblem.model_validate(problem) for problem in listed_errors(error.errors(), raw)]
        return SweepCheck(ok=False, problems=listed)
    problems: list[JobProblem] = []
    try:
        require_price(spec, gpu_hour_price)
    except InvalidInput as error:
        problems.append(_problem(error))
    warnings = advice(spec)
    first: list[Variation] = []
    try:
        await anyio.to_thread.run_sync(check, spec)
        first = first_variations(spec, FIRST_SETTINGS)
        warnings += await _resolve(session, project_id, spec, first)
    except InvalidInput as error:
        problems.append(_problem(error))
    if spec.depends_on_results:
        first = first[: startup_settings(spec) * len(spec.seed_values)]
    return SweepCheck(
        ok=not problems,
        problems=problems,
        warnings=list(dict.fromkeys(warnings)),
        planned=number_of_trials(spec),
        varied=varied_paths(spec),
        trials=[PlannedTrial.model_validate(variation, from_attributes=True) for variation in first],
    )


async def _resolve(
    session: AsyncSession, project_id: str, spec: SweepSpec, variations: list[Variation]
) -> list[str]:
    warnings: list[str] = []
    for variation in variations:
        if variation.seed != spec.seed_values[0]:
            continue
        job = validated(spec, variation, job_of(spec, variation, "sweep"))
        try:
            warnings += (await look_up(session, project_id, job)).warnings
        except InvalidInput as error:
            raise blamed(spec, variation, error.param or "", error.message, error.hint, error.code) from error
    return warnings


def _problem(error: InvalidInput) -> JobProblem:
    return JobProblem(param=error.param, message=error.message, code=error.code, hint=error.hint)
