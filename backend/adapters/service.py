"""Adapters: listing, views, downloads."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import Principal, require_owner
from backend.adapters import aliases, archive, repository
from backend.adapters.card import uploaded_card, write_card
from backend.models import Adapter, BaseModel, Checkpoint, Job, now
from reinforge.errors import NotFound, StateConflict
from reinforge.schemas import resources


@dataclass(frozen=True)
class Download:
    sha256: str
    card: str
    filename: str
    etag: str


async def get(session: AsyncSession, project_id: str, id: str) -> Adapter:
    """An adapter, by id or alias. Raises NotFound `adapter_not_found`."""
    adapter = await repository.find(session, project_id, id)
    if adapter is None:
        adapter = await aliases.adapter_of(session, project_id, id)
    if adapter is None:
        raise NotFound(
            f"There is no adapter {id}.",
            code="adapter_not_found",
            hint="A job has an adapter once it has succeeded.",
        )
    return adapter


async def weights(session: AsyncSession, id: str | None) -> Checkpoint | None:
    return None if id is None else await repository.weights(session, id)


async def delete(session: AsyncSession, project_id: str, id: str) -> None:
    """The checkpoints of a job stay; an uploaded adapter is deleted with its weights. Raises NotFound,
    StateConflict `adapter_has_alias`.
    """
    adapter = await get(session, project_id, id)
    await aliases.lock_adapter(session, adapter.id)
    if names := await aliases.names_of(session, [adapter.id]):
        raise StateConflict(
            f"The adapter cannot be deleted: these aliases point to it: {', '.join(names[:5])}.",
            code="adapter_has_alias",
            hint="Point them at another adapter, or delete them.",
        )
    if adapter.job_id is None:
        await session.delete(adapter)
    else:
        adapter.deleted_at = now()


async def remove(session: AsyncSession, who: Principal, id: str) -> None:
    """Delete an adapter, as `who`. Raises NotAllowed."""
    adapter = await get(session, who.project_id, id)
    if adapter.job_id is not None:
        require_owner(who, "adapters of jobs")
    await delete(session, who.project_id, id)


async def page(
    session: AsyncSession, project_id: str, *, limit: int, after: str | None
) -> tuple[list[Adapter], bool]:
    return await repository.page(session, project_id, limit=limit, after=after)


async def download(session: AsyncSession, project_id: str, id: str) -> Download:
    adapter = await get(session, project_id, id)
    job, model = await repository.origin(session, adapter)
    return package(adapter, adapter.name, job, model)


def package(weights: Adapter | Checkpoint, name: str, job: Job | None, model: BaseModel) -> Download:
    card = uploaded_card(name, model) if job is None else write_card(weights, name, job, model)
    digest = hashlib.sha256(f"{archive.VERSION} {weights.sha256} {card}".encode()).hexdigest()
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:100]
    filename = f"{plain or 'adapter'}-step-{weights.step}.tar.gz"
    return Download(weights.sha256, card, filename, etag=digest[:40])


async def views(session: AsyncSession, adapters: Sequence[Adapter]) -> list[resources.Adapter]:
    beside = await repository.beside(session, adapters)
    return [_view(adapter, *beside[adapter.id]) for adapter in adapters]


def _view(adapter: Adapter, base: float | None, best: Checkpoint | None) -> resources.Adapter:
    return resources.Adapter(
        id=adapter.id,
        name=adapter.name,
        job=adapter.job_id,
        checkpoint=adapter.checkpoint_id,
        step=adapter.step,
        model=adapter.model_id,
        bytes=adapter.bytes,
        sha256=adapter.sha256,
        held_out_reward=adapter.held_out_reward,
        base_reward=base,
        best=resources.BestCheckpoint.model_validate(best) if best else None,
        created_at=adapter.created_at,
    )
