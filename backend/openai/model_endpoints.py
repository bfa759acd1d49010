"""/v1/models: base models, deployments, adapters, checkpoints."""

from fastapi import APIRouter
from sqlalchemy import or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import Reader, Writer
from backend.adapters import aliases
from backend.adapters import service as adapters
from backend.base_models import service as base_models
from backend.data.database import Session
from backend.deployments import service as deployments
from backend.models import BaseModel, Checkpoint, CheckpointPermission, Deployment, Job, Project
from backend.openai import model_names
from backend.openai.conventions import OpenAIRoute, listed, seconds
from backend.openai.jobs import queries
from backend.projects.service import require_owner
from reinforge.errors import InvalidInput, NotAllowed
from reinforge.schemas.openai_common import Deleted, WireList
from reinforge.schemas.openai_jobs import ModelView

router = APIRouter(prefix="/v1/models", tags=["openai"], route_class=OpenAIRoute)

MOST_CHECKPOINTS = 10_000


@router.get("", operation_id="listWireModels")
async def list_models(session: Session, who: Reader) -> WireList[ModelView]:
    """Every valid value of `model`: base models, then deployments, adapters, aliases and checkpoints."""
    bases = await session.scalars(
        select(BaseModel)
        .where(BaseModel.status == "ready", base_models.visible_to(who.project_id))
        .order_by(BaseModel.created_at, BaseModel.key)
    )
    project = await queries.project(session, who.project_id)
    views = [_base(base_model, project) for base_model in bases]
    for row in await deployments.named(session, who.project_id):
        views.append(_deployed(row, project))
    for adapter, job in await queries.adapters(session, who.project_id):
        views.append(_view(model_names.tuned(job, project), seconds(adapter.created_at), project))
    for alias, _ in await aliases.all_of(session, who.project_id):
        views.append(_view(alias.name, seconds(alias.created_at), project))
    views += await _checkpoints(session, who.project_id)
    return listed(views, has_more=False)


@router.get("/{model:path}", operation_id="getWireModel")
async def get(model: str, session: Session, who: Reader) -> ModelView:
    if (row := await deployments.find_named(session, who.project_id, model)) is not None:
        return _deployed(row, await queries.project(session, who.project_id))
    if (alias := await aliases.find(session, who.project_id, model)) is not None:
        return _view(alias.name, seconds(alias.created_at), await queries.project(session, who.project_id))
    named_model = await model_names.find(session, who.project_id, model)
    if named_model.checkpoint is None or named_model.job is None:
        return _base(named_model.base, await queries.project(session, who.project_id))
    project = await queries.project(session, named_model.job.project_id)
    step = named_model.checkpoint.step if ":ckpt-step-" in model else None
    name = model_names.tuned(named_model.job, project, step=step)
    return _view(name, seconds(named_model.checkpoint.created_at), project)


@router.delete("/{model:path}", operation_id="deleteWireModel")
async def delete(model: str, session: Session, who: Writer) -> Deleted:
    """Remove a stopped deployment or a finished job's adapter from the list. The job and its checkpoints
    stay. Owners only.
    """
    require_owner(who, "models")
    if (row := await deployments.find_named(session, who.project_id, model)) is not None:
        await deployments.remove(session, who.project_id, row.id)
        return Deleted(id=model, object="model")
    if await aliases.find(session, who.project_id, model) is not None:
        raise InvalidInput(
            f"{model} is an alias, which this endpoint does not delete.",
            code="model_not_deletable",
            param="model",
            hint="DELETE /api/v1/adapters/aliases/{name} deletes it.",
        )
    named_model = await model_names.find(session, who.project_id, model)
    if named_model.job is None:
        raise NotAllowed(
            f"{model} is a base model, which this endpoint does not delete.",
            code="model_not_deletable",
            param="model",
            hint="`reinforge models remove` and DELETE /api/v1/models/{id} remove base models.",
        )
    if ":ckpt-step-" in model or named_model.job.adapter_id is None:
        raise InvalidInput(
            "A checkpoint can be deleted only with its job.",
            code="model_not_deletable",
            param="model",
            hint="A job keeps its three best checkpoints by held-out reward and the newest one.",
        )
    await adapters.delete(session, who.project_id, named_model.job.adapter_id)
    return Deleted(id=model, object="model")


async def _checkpoints(session: AsyncSession, project_id: str) -> list[ModelView]:
    shared = select(CheckpointPermission.checkpoint_id).where(CheckpointPermission.project_id == project_id)
    query = (
        select(Checkpoint, Job, Project)
        .join(Job, Job.id == Checkpoint.job_id)
        .join(Project, Project.id == Job.project_id)
        .where(or_(Job.project_id == project_id, Checkpoint.id.in_(shared)), Job.purpose == "train")
        .order_by(Checkpoint.created_at.desc(), Checkpoint.id.desc())
        .limit(MOST_CHECKPOINTS)
    )
    return [
        _view(model_names.tuned(job, project, step=checkpoint.step), seconds(checkpoint.created_at), project)
        for checkpoint, job, project in (await session.execute(query)).all()
    ]


def _base(model: BaseModel, project: Project) -> ModelView:
    if model.shared:
        return ModelView(id=model.id, created=seconds(model.created_at), owned_by="system")
    return _view(model.id, seconds(model.created_at), project)


def _deployed(row: Deployment, project: Project) -> ModelView:
    return _view(row.name, seconds(row.created_at), project)


def _view(name: str, created: int, project: Project) -> ModelView:
    return ModelView(id=name, created=created, owned_by=model_names.plain(project.name))
