"""Endpoint that lists the groups of a step."""

from typing import Annotated

from fastapi import APIRouter, Query

from backend.access.auth import Reader
from backend.data.database import Session
from backend.http.strict_json import StrictRoute
from backend.jobs import repository
from backend.jobs.monitoring import completions, groups
from backend.jobs.monitoring.object_cache import ObjectCacheDep
from reinforge.schemas.jobs import GroupList

router = APIRouter(tags=["jobs"], route_class=StrictRoute)


@router.get("/jobs/{id}/groups", operation_id="listGroups")
async def list_groups(
    id: str,
    session: Session,
    cache: ObjectCacheDep,
    who: Reader,
    step: Annotated[int | None, Query(ge=0, le=2**53)] = None,
    split: completions.Split = "train",
) -> GroupList:
    """Every group of one step (the newest by default): the beginning of its prompt and its rewards."""
    await repository.find(session, who.project_id, id)
    return await groups.heads(session, cache, id, split=split, step=step)
