"""Checkpoints of a job, and their permissions."""

from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import Principal, Reader, Writer
from backend.data.database import Session
from backend.data.ids import new_id
from backend.http.cursors import by_creation, cut
from backend.http.idempotency import OnceWhole
from backend.models import Checkpoint, CheckpointPermission, Job, Project, now
from backend.openai import model_names
from backend.openai.conventions import OpenAIRoute, listed, seconds, unknown_after
from backend.openai.jobs import queries
from backend.projects.service import require_owner
from reinforge.errors import InvalidInput, NotFound
from reinforge.schemas.openai_common import Deleted, WireList
from reinforge.schemas.openai_jobs import CheckpointView, PermissionsCreate, PermissionView

router = APIRouter(prefix="/v1/fine_tuning/checkpoints", tags=["openai"], route_class=OpenAIRoute)

_METRICS = {
    "loss/policy": ("train_loss",),
    "reward/mean": ("train_mean_reward", "train_reward_mean"),
    "held_out/reward_mean": ("full_valid_mean_reward", "valid_reward_mean"),
    "held_out/error_share": ("full_valid_mean_parse_error",),
    "completions/length_mean": ("completion_tokens_mean",),
}


async def checkpoint_views(
    session: AsyncSession, job: Job, rows: Sequence[Checkpoint]
) -> list[CheckpointView]:
    project = await queries.project(session, job.project_id)
    values = await queries.values_at(session, job.id, [row.step for row in rows], _METRICS)
    return [_view(row, job, project, values.get(row.step, {})) for row in rows]


def _view(row: Checkpoint, job: Job, project: Project, values: dict[str, float]) -> CheckpointView:
    metrics = {name: value for key, value in values.items() for name in _METRICS[key]}
    return CheckpointView(
        id=row.id,
        created_at=seconds(row.created_at),
        fine_tuned_model_checkpoint=model_names.tuned(job, project, step=row.step),
        fine_tuning_job_id=row.job_id,
        step_number=row.step,
        metrics={"step": float(row.step)} | metrics,
    )


@router.get("/{model}/permissions", operation_id="listCheckpointPermissions")
async def list_permissions(
    model: str,
    session: Session,
    who: Reader,
    project_id: str | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 10,
    order: Literal["ascending", "descending"] = "descending",
    after: str | None = None,
) -> WireList[PermissionView]:
    """Projects that may use the checkpoint."""
    checkpoint = await _own(session, who, model)
    query = select(CheckpointPermission).where(CheckpointPermission.checkpoint_id == checkpoint.id)
    if project_id is not None:
        query = query.where(CheckpointPermission.project_id == project_id)
    place = None if after is None else await session.get(CheckpointPermission, after)
    if after is not None and (place is None or place.checkpoint_id != checkpoint.id):
        raise unknown_after(after)
    query = by_creation(
        query,
        CheckpointPermission.created_at,
        CheckpointPermission.id,
        limit=limit,
        after=(place.created_at, place.id) if place else None,
        oldest_first=order == "ascending",
    )
    rows, more = cut((await session.scalars(query)).all(), limit)
    return listed([_permission(row) for row in rows], has_more=more)


@router.post("/{model}/permissions", dependencies=[OnceWhole], operation_id="createCheckpointPermissions")
async def create_permissions(
    model: str, body: PermissionsCreate, session: Session, who: Writer
) -> WireList[PermissionView]:
    """Let other projects use a checkpoint as a model. Owners only; idempotent."""
    require_owner(who, "permissions of checkpoints")
    checkpoint = await _own(session, who, model)
    project_ids = list(dict.fromkeys(body.project_ids))
    existing_ids = set(await session.scalars(select(Project.id).where(Project.id.in_(project_ids))))
    for place, id in enumerate(body.project_ids):
        if id not in existing_ids:
            raise InvalidInput(
                f"There is no project {id}.", code="project_not_found", param=f"project_ids[{place}]"
            )
    for id in project_ids:
        values = {"id": new_id("cp_"), "checkpoint_id": checkpoint.id, "project_id": id}
        row = insert(CheckpointPermission).values(**values, created_by=who.name, created_at=now())
        await session.execute(row.on_conflict_do_nothing())
    query = select(CheckpointPermission).where(
        CheckpointPermission.checkpoint_id == checkpoint.id, CheckpointPermission.project_id.in_(project_ids)
    )
    rows = {row.project_id: row for row in await session.scalars(query)}
    return listed([_permission(rows[id]) for id in project_ids], has_more=False)


@router.delete("/{model}/permissions/{permission_id}", operation_id="deleteCheckpointPermission")
async def delete_permission(model: str, permission_id: str, session: Session, who: Writer) -> Deleted:
    require_owner(who, "permissions of checkpoints")
    checkpoint = await _own(session, who, model)
    deleted_id = await session.scalar(
        delete(CheckpointPermission)
        .where(CheckpointPermission.id == permission_id, CheckpointPermission.checkpoint_id == checkpoint.id)
        .returning(CheckpointPermission.id)
    )
    if deleted_id is None:
        raise NotFound(
            f"There is no permission {permission_id}.", code="permission_not_found", param="permission_id"
        )
    return Deleted(id=permission_id, object="checkpoint.permission")


async def _own(session: AsyncSession, who: Principal, name: str) -> Checkpoint:
    query = select(Checkpoint).join(Job, Job.id == Checkpoint.job_id)
    query = query.where(Checkpoint.id == name, Job.project_id == who.project_id)
    checkpoint: Checkpoint | None = await session.scalar(query)
    if checkpoint is not None:
        return checkpoint
    model = await model_names.find(session, who.project_id, name)
    if model.checkpoint is None or model.job is None or model.job.project_id != who.project_id:
        raise model_names.not_found(
            name, "Permissions can be granted only for a job's checkpoints: ft:…:ckpt-step-<n>."
        )
    return model.checkpoint


def _permission(row: CheckpointPermission) -> PermissionView:
    return PermissionView(id=row.id, created_at=seconds(row.created_at), project_id=row.project_id)
