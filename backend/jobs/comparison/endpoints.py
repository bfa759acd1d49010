"""Endpoints that compare jobs."""

from typing import Annotated

from fastapi import APIRouter, Query, Request

from backend.access.auth import Reader
from backend.data.database import Session
from backend.http.strict_json import StrictRoute
from backend.jobs.comparison import curves, divergence, prompts, service
from backend.jobs.comparison.prompt_queries import PromptSort
from backend.jobs.monitoring.completions import Split
from backend.jobs.monitoring.object_cache import ObjectCacheDep
from backend.settings import Settings
from reinforge.schemas.comparison import (
    ComparedPromptPage,
    CurveComparison,
    JobComparison,
    Moment,
    PromptComparison,
)
from reinforge.schemas.divergence import Divergence

Jobs = Annotated[list[str], Query(min_length=2, max_length=50)]
Group = Annotated[str | None, Query(max_length=200)]

router = APIRouter(tags=["jobs"], route_class=StrictRoute)


@router.get("/compare", operation_id="compareJobs")
async def compare_jobs(
    request: Request,
    session: Session,
    who: Reader,
    job: Jobs,
    at: Moment = "last",
    group: Group = None,
) -> JobComparison:
    """Compare 2 to 50 jobs with the first one: settings, held-out rewards with intervals, tokens, time, cost.

    Repeat `job` for each job. `at`: the newest evaluation (`last`), or that of the best checkpoint
    (`best`). `group`: dotted path of a setting, such as `algorithm.preset`, or `seeds` for jobs that
    differ only in their seeds; groups are compared with the first job's group.
    """
    settings: Settings = request.app.state.settings
    return await service.compare(
        session, who.project_id, job, at=at, group=group, gpu_hour_price=settings.gpu_hour_price
    )


@router.get("/compare/curves", operation_id="compareCurves")
async def compare_curves(
    session: Session,
    who: Reader,
    job: Jobs,
    key: Annotated[list[Annotated[str, Query(max_length=200)]], Query(min_length=1, max_length=20)],
    group: Group = None,
    buckets: Annotated[int, Query(ge=2, le=500)] = 100,
) -> CurveComparison:
    """Curves of up to 20 metrics: one per job or, with `group`, mean, minimum and maximum per group.

    All curves of a metric have the same buckets of steps.
    """
    return await curves.compare_curves(session, who.project_id, job, key, group=group, buckets=buckets)


@router.get("/compare/prompts", operation_id="comparePrompts")
async def compare_prompts(
    session: Session,
    who: Reader,
    job: Jobs,
    split: Split = "held_out",
    at: Moment = "last",
    q: Annotated[str | None, Query(max_length=500)] = None,
    sort: PromptSort = "-difference",
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    after: Annotated[str | None, Query(max_length=1000)] = None,
) -> ComparedPromptPage:
    """Prompts with scored completions of at least two jobs; by default the largest differences come first.

    With `split` `held_out`, completions are those of the evaluation `at`; with `train`, those of each job's
    newest step with the prompt. `q` is a part of the prompt's first 1,000 characters, without regard to case.
    """
    return await prompts.page(
        session, who.project_id, job, split=split, at=at, q=q or None, sort=sort, limit=limit, after=after
    )


@router.get("/compare/completions", operation_id="compareCompletions")
async def compare_completions(
    session: Session,
    who: Reader,
    job: Jobs,
    prompt_hash: Annotated[str, Query(min_length=1, max_length=200)],
    split: Split = "held_out",
    at: Moment = "last",
    samples: Annotated[int, Query(ge=1, le=64)] = 8,
) -> PromptComparison:
    """At most `samples` completions of one prompt per job. Jobs that lack the prompt are left out."""
    return await prompts.one(session, who.project_id, job, prompt_hash, split=split, at=at, samples=samples)


@router.get("/compare/divergence", operation_id="compareDivergence")
async def compare_divergence(
    session: Session,
    cache: ObjectCacheDep,
    who: Reader,
    job: Annotated[list[str], Query(min_length=2, max_length=2)],
) -> Divergence:
    """Settings in which two jobs differ, and the first metric, prompt and completion token that differ.

    Meant for forks of one job with one change, which share prompts and sampling noise. `effect` is the
    held-out difference at the newest evaluation that both have.
    """
    return await divergence.diverge(session, cache, who.project_id, job)
