"""Checks the specification in the new-job form before it is submitted."""

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from backend.base_models import service as base_models
from backend.data.database import Database
from backend.data.objects import Objects
from backend.http.errors import listed_errors
from backend.jobs import service
from backend.jobs.submission import validate_references
from backend.jobs.submission.validate_on_worker import load_rewards, validate_all
from backend.jobs.submission.validate_references import JobPlan
from backend.rpc.client import Calls
from reinforge.errors import InvalidInput, Unavailable
from reinforge.schemas.job_checks import JobCheck, JobProblem
from reinforge.spec import JobSpec

MANY_EPOCHS = 20


async def check_job(
    raw: dict[str, Any],
    project_id: str,
    database: Database,
    calls: Calls,
    objects: Objects,
    cache: Path,
    *,
    quick: bool,
) -> JobCheck:
    """All problems of a specification; without an online worker, a warning replaces the worker's checks."""
    try:
        spec = JobSpec.model_validate(raw)
    except ValidationError as error:
        listed = [JobProblem.model_validate(problem) for problem in listed_errors(error.errors(), raw)]
        return JobCheck(ok=False, problems=listed)
    worker_warnings: list[str] = []
    if not quick:
        try:
            await base_models.ensure_builtin(database, calls, spec.model)
        except Unavailable as error:
            worker_warnings.append(_unchecked(error))
    async with database.transaction() as session:
        survey = await validate_references.survey(session, project_id, spec)
    plan, problems = survey.plan, list(survey.problems)
    if not quick and not worker_warnings:
        try:
            if plan is not None:
                validated = await validate_all(plan, calls, objects, cache)
                worker_warnings += [text for text in validated.plan.warnings if text not in plan.warnings]
                plan, problems = validated.plan, validated.problems
            else:
                problems += (
                    await load_rewards(survey.rewards, calls, survey.datasets, spec.data.columns)
                ).problems
        except Unavailable as error:
            worker_warnings.append(_unchecked(error))
    of_plan = [*plan.warnings, *advice(plan)] if plan is not None else []
    resolved = service.resolve(plan) if plan is not None else spec.resolved()
    return JobCheck(
        ok=not problems,
        problems=_distinct(problems),
        warnings=list(dict.fromkeys([*of_plan, *worker_warnings])),
        worker_warnings=worker_warnings,
        spec=resolved.model_dump(mode="json"),
        facts=facts(plan) if plan is not None else {},
    )


def facts(plan: JobPlan) -> dict[str, Any]:
    training, held_out = plan.split
    rollout, steps = plan.spec.rollout, plan.spec.limits.steps
    per_step = rollout.prompts_per_step * rollout.completions_per_prompt
    return {
        "rows": plan.dataset.rows,
        "training_rows": training,
        "held_out_rows": held_out,
        "completions_per_step": per_step,
        "completions": per_step * steps,
        "epochs": steps * rollout.prompts_per_step / training,
        "longest_prompt_tokens": plan.longest_prompt,
        "prompt_limit": plan.prompt_limit,
        "jail": plan.jail,
    }


def advice(plan: JobPlan) -> list[str]:
    spec, warnings = plan.spec, []
    training, held_out = plan.split
    prompts = spec.limits.steps * spec.rollout.prompts_per_step
    epochs = prompts / training
    if epochs < 1:
        warnings.append(
            f"{spec.limits.steps:,} steps take {prompts:,} prompts: {training - prompts:,} of the {training:,} "
            "training rows are never used."
        )
    elif epochs > MANY_EPOCHS:
        warnings.append(
            f"{spec.limits.steps:,} steps see each of the {training:,} training rows about {epochs:.0f} times. "
            "Watch the held-out reward: it distinguishes learning from memorising."
        )
    if held_out == 0 and spec.data.held_out_rows == 0:
        warnings.append("No row is held out: there will be no held-out reward, and no best checkpoint.")
    elif held_out and spec.evaluation.rows == 0:
        warnings.append(
            f"{held_out:,} rows are held out, but evaluation.rows is 0: there will be no held-out reward."
        )
    if all(reward.weight == 0 for reward in spec.rewards):
        warnings.append("Every reward has weight 0: there is nothing to learn from.")
    return warnings


def _unchecked(error: Unavailable) -> str:
    return f"Rewards and prompt lengths are not checked yet. {error.message} {error.hint or ''}".rstrip()


def _distinct(problems: list[InvalidInput]) -> list[JobProblem]:
    distinct: dict[tuple[str | None, str], JobProblem] = {}
    for error in problems:
        problem = JobProblem(param=error.param, message=error.message, code=error.code, hint=error.hint)
        distinct.setdefault((problem.param, problem.message), problem)
    return list(distinct.values())
