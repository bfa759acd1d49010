"""Queries about deployments."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from backend.http.cursors import cut, newest_first
from backend.models import BaseModel, Call, Checkpoint, Deployment, Job, now
from reinforge.schemas.deployments import State


async def find(session: AsyncSession, project_id: str, id: str, *, lock: bool = False) -> Deployment | None:
    query = select(Deployment).where(Deployment.project_id == project_id)
    query = (
        query.where((Deployment.id == id) | (Deployment.name == id)).order_by(Deployment.id == id).limit(1)
    )
    deployment: Deployment | None = await session.scalar(query.with_for_update() if lock else query)
    return deployment


async def page(
    session: AsyncSession, project_id: str, *, limit: int, after: str | None
) -> tuple[list[Deployment], bool]:
    query = select(Deployment).where(Deployment.project_id == project_id)
    query = newest_first(query, Deployment.created_at, Deployment.id, limit=limit, after=after)
    return cut((await session.scalars(query)).all(), limit)


async def in_states(session: AsyncSession, project_id: str, states: Iterable[State]) -> list[Deployment]:
    query = select(Deployment).where(Deployment.project_id == project_id, Deployment.state.in_(tuple(states)))
    return list(await session.scalars(query.order_by(Deployment.created_at.desc(), Deployment.id.desc())))


async def checkpoint(session: AsyncSession, project_id: str, id: str) -> tuple[Checkpoint, Job] | None:
    query = select(Checkpoint, Job).join(Job, Job.id == Checkpoint.job_id)
    rows = await session.execute(query.where(Checkpoint.id == id, Job.project_id == project_id))
    row = rows.one_or_none()
    return None if row is None else (row[0], row[1])


async def models(session: AsyncSession, keys: Iterable[str]) -> Mapping[str, BaseModel]:
    rows = await session.scalars(select(BaseModel).where(BaseModel.key.in_(set(keys))))
    return {row.key: row for row in rows}


async def under_way(session: AsyncSession, ids: Iterable[str]) -> Mapping[str, int]:
    key = Call.payload["deployment"].astext
    query = select(key, func.count()).where(
        Call.kind == "sample", Call.state != "answered", Call.deadline > now(), key.in_(list(ids))
    )
    return {str(id): int(count) for id, count in await session.execute(query.group_by(key))}


async def move(
    session: AsyncSession, id: str, *, since: Iterable[State], to: State, error: dict[str, Any] | None = None
) -> bool:
    query = update(Deployment).where(Deployment.id == id, Deployment.state.in_(list(since)))
    moved = await session.execute(
        query.values(state=to, error=error, updated_at=now()).returning(Deployment.id)
    )
    return moved.first() is not None


async def count(
    session: AsyncSession, id: str, *, requests: int, prompt_tokens: int, completion_tokens: int, failed: bool
) -> None:
    await session.execute(
        update(Deployment)
        .where(Deployment.id == id)
        .values(
            requests=Deployment.requests + requests,
            failed_requests=Deployment.failed_requests + int(failed),
            prompt_tokens=Deployment.prompt_tokens + prompt_tokens,
            completion_tokens=Deployment.completion_tokens + completion_tokens,
            last_used_at=now(),
        )
    )


async def left_behind(session: AsyncSession, loading_before: timedelta) -> list[Deployment]:
    limit: datetime = now() - loading_before
    query = select(Deployment).where(
        (Deployment.state == "draining") | ((Deployment.state == "loading") & (Deployment.updated_at < limit))
    )
    return list(await session.scalars(query))
