"""Endpoint of a job's prompts."""

from typing import Annotated

from fastapi import APIRouter, Query

from backend.access.auth import Reader
from backend.data.database import Session
from backend.http.strict_json import StrictRoute
from backend.jobs import repository
from backend.jobs.monitoring.completions import Split
from backend.jobs.prompts import service
from backend.jobs.prompts.repository import PromptFilter, Sort
from reinforge.schemas.job_prompts import JobPromptPage, PromptCategory

router = APIRouter(tags=["jobs"], route_class=StrictRoute)


@router.get("/jobs/{id}/prompts", operation_id="listJobPrompts")
async def list_prompts(
    id: str,
    session: Session,
    who: Reader,
    split: Split = "train",
    category: PromptCategory | None = None,
    q: Annotated[str | None, Query(max_length=500)] = None,
    sort: Sort = "row",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    after: str | None = None,
) -> JobPromptPage:
    """Every dataset row that a job sampled, over all steps: pass share, series of mean rewards and category.

    A draw is one sampling of a row: solved if at least half of its scored completions pass, failed if
    none does. Categories: `never_solved`: no completion ever passed. `newly_lost`: an earlier draw was
    solved and the last draws (two, or one if there are fewer than four) failed. `won`: the first draw
    failed and the last draws are solved. `most_variable`: of the other rows with three or more draws, the
    10% whose draws' mean rewards have the highest variance. `q` is a part of the prompt's first 1,000
    characters, without regard to case. Prompts without the sort value come last.
    """
    job = await repository.find(session, who.project_id, id)
    chosen = PromptFilter(split=split, category=category, q=q or None, sort=sort)
    return await service.page(session, job, chosen, limit=limit, after=after)
