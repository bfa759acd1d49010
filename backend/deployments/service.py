"""Deployments and their state transitions.

loading → ready | failed           a worker has loaded the weights once, or could not
ready ↔ failed                     a request failed because of the weights or their worker
loading, ready, failed → draining → stopped → loading
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import Principal
from backend.adapters import aliases
from backend.adapters import service as adapters
from backend.base_models import service as base_models
from backend.data.database import flush_unique
from backend.data.ids import new_id
from backend.deployments import repository, vllm
from backend.http.conditional import Match
from backend.models import Adapter, BaseModel, Deployment, Job, now
from reinforge.environment_spec import TOOLS, ToolsSpec
from reinforge.errors import InvalidInput, NotFound, StateConflict
from reinforge.schemas.deployments import (
    DeploymentCreate,
    DeploymentError,
    DeploymentInfo,
    DeploymentTarget,
    DeploymentUsage,
    State,
)
from reinforge.schemas.rpc.sampling import AdapterArchive

OPEN: tuple[State, ...] = ("loading", "ready", "failed")


async def create(session: AsyncSession, who: Principal, body: DeploymentCreate) -> Deployment:
    await _check_name(session, who.project_id, body.name)
    row = Deployment(
        id=new_id("dep_"),
        project_id=who.project_id,
        name=body.name,
        state="loading",
        created_by=who.name,
        **await _weights(session, who.project_id, body, run_tools=bool(body.run_tools)),
    )
    session.add(row)
    conflict = StateConflict(
        f"There is a deployment called {body.name!r} already.",
        code="deployment_exists",
        param="name",
        hint="Point it at other weights with PATCH, or give the new one another name.",
    )
    await flush_unique(session, conflict)
    return row


async def change(
    session: AsyncSession, project_id: str, id: str, body: DeploymentTarget, match: Match
) -> Deployment:
    row = await get(session, project_id, id, lock=True)
    match.check(await view(session, row))
    run_tools = row.environment is not None if body.run_tools is None else body.run_tools
    for name, value in (await _weights(session, project_id, body, run_tools=run_tools)).items():
        setattr(row, name, value)
    if row.state in OPEN:
        row.state, row.error = "loading", None
    row.updated_at = now()
    await session.flush()
    return row


async def start(session: AsyncSession, project_id: str, id: str) -> Deployment:
    row = await get(session, project_id, id, lock=True)
    if row.state in ("stopped", "draining", "failed"):
        row.state, row.error, row.updated_at = "loading", None, now()
        await session.flush()
    return row


async def stop(session: AsyncSession, project_id: str, id: str) -> Deployment:
    row = await get(session, project_id, id, lock=True)
    if row.state in OPEN:
        row.state, row.error, row.updated_at = "draining", None, now()
        await session.flush()
    return row


async def settle(session: AsyncSession, id: str) -> None:
    """Stop a draining deployment that has no running requests.

    No request slips through: it stores its call and then checks the state, while this checks the calls after
    the state was stored.
    """
    if not (await repository.under_way(session, [id])).get(id):
        await repository.move(session, id, since=["draining"], to="stopped")


async def remove(session: AsyncSession, project_id: str, id: str) -> None:
    row = await get(session, project_id, id, lock=True)
    if row.state != "stopped":
        raise StateConflict(
            f"The deployment {row.name} is {row.state}: only a stopped one can be deleted.",
            code="deployment_not_stopped",
            hint="Stop it first: POST /api/v1/deployments/{id}/stop.",
        )
    await session.delete(row)


async def get(session: AsyncSession, project_id: str, id: str, *, lock: bool = False) -> Deployment:
    row = await repository.find(session, project_id, id, lock=lock)
    if row is None:
        raise NotFound(
            f"There is no deployment {id}.",
            code="deployment_not_found",
            hint="`reinforge deploy list` shows all.",
        )
    return row


async def page(
    session: AsyncSession, project_id: str, *, limit: int, after: str | None
) -> tuple[list[Deployment], bool]:
    return await repository.page(session, project_id, limit=limit, after=after)


async def find_named(session: AsyncSession, project_id: str, name: str) -> Deployment | None:
    row = await repository.find(session, project_id, name)
    return row if row is not None and row.name == name else None


async def named(session: AsyncSession, project_id: str) -> list[Deployment]:
    return await repository.in_states(session, project_id, OPEN)


# ── As models of requests ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Served:
    id: str
    model: BaseModel
    adapter: AdapterArchive | None
    environment: ToolsSpec | None
    """Environment whose tools the deployment runs."""


async def serve(session: AsyncSession, project_id: str, name: str) -> Served | None:
    row = await repository.find(session, project_id, name)
    if row is None:
        return None
    if row.state not in OPEN:
        raise stopped(row.name)
    model = base_models.usable(await base_models.of(session, row))
    if row.model_sha256 is not None and row.model_sha256 != model.sha256:
        raise InvalidInput(
            f"The files of {model.id} have changed since the weights behind {row.name} were trained.",
            code="model_changed",
            param="model",
            hint="An adapter fits only the weights it was trained on: add the old files as a model of their own.",
        )
    adapter = (
        None if row.sha256 is None else AdapterArchive(sha256=row.sha256, bytes=row.bytes, step=row.step)
    )
    return Served(row.id, model, adapter, _environment(row))


async def is_open(session: AsyncSession, id: str) -> bool:
    row = await session.get(Deployment, id)
    return row is not None and row.state in OPEN


def stopped(name: str) -> StateConflict:
    return StateConflict(
        f"The deployment {name} is stopped or draining: it takes no requests.",
        code="deployment_stopped",
        param="model",
        hint="Start it again with `reinforge deploy start`, or use another model.",
    )


# ── Views ──────────────────────────────────────────────────────────────────────────────────────────────────


async def views(session: AsyncSession, rows: Sequence[Deployment]) -> list[DeploymentInfo]:
    counts = await repository.under_way(session, [row.id for row in rows])
    models = await repository.models(session, {row.model_key for row in rows})
    return [_view(row, models[row.model_key], counts.get(row.id, 0)) for row in rows]


async def view(session: AsyncSession, row: Deployment) -> DeploymentInfo:
    return (await views(session, [row]))[0]


def _view(row: Deployment, model: BaseModel, under_way: int) -> DeploymentInfo:
    return DeploymentInfo(
        id=row.id,
        name=row.name,
        model=row.model_id,
        adapter=row.adapter_id,
        checkpoint=row.checkpoint_id,
        job=row.job_id,
        step=row.step,
        bytes=row.bytes,
        tools=_tool_names(row),
        state=row.state,
        error=None if row.error is None else DeploymentError.model_validate(row.error),
        under_way=under_way,
        usage=DeploymentUsage.model_validate(row),
        vllm=vllm.command(row.name, model, row.rank, adapter=row.sha256 is not None),
        created_by=row.created_by,
        last_used_at=row.last_used_at,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


# ── Weights ────────────────────────────────────────────────────────────────────────────────────────────────


async def _check_name(session: AsyncSession, project_id: str, name: str) -> None:
    alias = await aliases.find(session, project_id, name)
    try:
        await base_models.get(session, project_id, name)
    except NotFound:
        if name not in base_models.BUILTIN and alias is None:
            return
    raise InvalidInput(
        f"{name} is already the name of {'a base model' if alias is None else 'an alias'}.",
        code="name_taken",
        param="name",
        hint="Requests use one namespace for models, deployments and aliases: choose an unused name.",
    )


async def _weights(
    session: AsyncSession, project_id: str, body: DeploymentTarget, *, run_tools: bool
) -> dict[str, Any]:
    """Columns of a deployment row that describe the weights. Raises InvalidInput."""
    if body.model is not None:
        _require_no_tools(run_tools)
        model = await base_models.get_usable(session, project_id, body.model)
        columns = dict.fromkeys(
            ("job_id", "checkpoint_id", "adapter_id", "step", "rank", "sha256", "bytes", "environment")
        )
        return {**columns, "model_id": model.id, "model_key": model.key, "model_sha256": model.sha256}
    checkpoint_id, adapter_id = body.checkpoint, None
    if body.adapter is not None:
        try:
            adapter = await adapters.get(session, project_id, body.adapter)
        except NotFound as error:
            raise InvalidInput(error.message, code=error.code, hint=error.hint, param="adapter") from error
        if adapter.checkpoint_id is None:
            _require_no_tools(run_tools)
            return _uploaded(adapter)
        checkpoint_id, adapter_id = adapter.checkpoint_id, adapter.id
    assert checkpoint_id is not None
    row = await repository.checkpoint(session, project_id, checkpoint_id)
    if row is None:
        raise InvalidInput(
            f"There is no checkpoint {checkpoint_id}.",
            code="checkpoint_not_found",
            param="checkpoint",
            hint="A job keeps its three best checkpoints and the last one: choose one of those.",
        )
    checkpoint, job = row
    return {
        "model_id": job.model_id,
        "model_key": job.model_key,
        "model_sha256": job.model_sha256,
        "job_id": job.id,
        "checkpoint_id": checkpoint.id,
        "adapter_id": adapter_id,
        "step": checkpoint.step,
        "rank": (job.resolved_spec.get("adapter") or {}).get("rank"),
        "sha256": checkpoint.sha256,
        "bytes": checkpoint.bytes,
        "environment": _tools_of(job) if run_tools else None,
    }


def _tools_of(job: Job) -> dict[str, Any]:
    environment: dict[str, Any] = job.resolved_spec.get("environment") or {}
    if environment.get("type") != TOOLS or not environment.get("sources"):
        raise _no_tools(f"The job {job.id} has no tools that the platform runs.")
    if any(source["type"] == "openenv" for source in environment["sources"]):
        raise _no_tools(f"The job {job.id} uses an OpenEnv server, whose tools run only within a rollout.")
    return environment


def _require_no_tools(run_tools: bool) -> None:
    if run_tools:
        raise _no_tools(
            "These weights were not trained by a job of this project, so there are no tools to run."
        )


def _no_tools(message: str) -> InvalidInput:
    return InvalidInput(
        message,
        code="no_tools",
        param="run_tools",
        hint="Deploy a checkpoint or adapter of a job with environment `tools`, or leave run_tools out.",
    )


def _environment(row: Deployment) -> ToolsSpec | None:
    return None if row.environment is None else ToolsSpec.model_validate(row.environment)


def _tool_names(row: Deployment) -> list[str] | None:
    environment = _environment(row)
    return None if environment is None else [schema.name for schema in environment.schemas()]


def _uploaded(adapter: Adapter) -> dict[str, Any]:
    return {
        "model_id": adapter.model_id,
        "model_key": adapter.model_key,
        "model_sha256": adapter.model_sha256,
        "job_id": None,
        "checkpoint_id": None,
        "adapter_id": adapter.id,
        "step": None,
        "rank": (adapter.lora or {}).get("rank"),
        "sha256": adapter.sha256,
        "bytes": adapter.bytes,
        "environment": None,
    }
