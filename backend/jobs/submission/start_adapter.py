"""Adapter or checkpoint that a job starts from."""

from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from backend.adapters import aliases
from backend.adapters import service as adapters
from backend.base_models import service as base_models
from backend.jobs import repository
from backend.models import BaseModel, Job
from reinforge.base_models.adapter_config import LoraShape
from reinforge.errors import InvalidInput, NotFound
from reinforge.spec import JobSpec

ADAPTER, CHECKPOINT = "adp_", "ftckpt_"


@dataclass(frozen=True)
class StartAdapter:
    id: str
    name: str
    job: str | None
    step: int | None
    model: BaseModel
    model_sha256: str | None
    sha256: str
    bytes: int
    lora: LoraShape

    @property
    def facts(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("id", "name", "job", "step", "bytes")}


async def start_of(session: AsyncSession, project_id: str, spec: JobSpec) -> StartAdapter | None:
    if spec.adapter.start is not None:
        start = await find(session, project_id, spec.adapter.start, "adapter.start")
        _check_model(start, spec)
    elif is_adapter(spec.model) or await aliases.find(session, project_id, spec.model) is not None:
        start = await find(session, project_id, spec.model, "model")
    else:
        return None
    return start


def is_adapter(id: str) -> bool:
    return id.startswith((ADAPTER, CHECKPOINT))


async def find(session: AsyncSession, project_id: str, id: str, param: str) -> StartAdapter:
    """Find an adapter by id or alias, or a checkpoint by id."""
    look_up = _checkpoint if id.startswith(CHECKPOINT) else _adapter
    try:
        start = await look_up(session, project_id, id)
    except NotFound as error:
        raise InvalidInput(error.message, code=error.code, hint=error.hint, param=param) from error
    model = base_models.usable(start.model)
    if start.model_sha256 is not None and start.model_sha256 != model.sha256:
        raise InvalidInput(
            f"The files of {model.id} have changed since {start.id} was trained.",
            code="model_changed",
            param=param,
            hint="An adapter fits only the weights it was trained on: add the old files as a model of their own.",
        )
    return start


async def stored_start(session: AsyncSession, job: Job) -> StartAdapter | None:
    if job.start is None or job.start_sha256 is None:
        return None
    return StartAdapter(
        **job.start,
        model=await base_models.of(session, job),
        model_sha256=job.model_sha256,
        sha256=job.start_sha256,
        lora=_lora(job),
    )


def _check_model(start: StartAdapter, spec: JobSpec) -> None:
    if spec.model not in (start.model.id, start.id):
        raise InvalidInput(
            f"The adapter {start.id} was trained on {start.model.id}, not on {spec.model}.",
            code="adapter_of_another_model",
            param="adapter.start",
            hint=f"Set model to {start.model.id}.",
        )


async def _adapter(session: AsyncSession, project_id: str, id: str) -> StartAdapter:
    adapter = await adapters.get(session, project_id, id)
    if adapter.checkpoint_id is not None:
        return replace(
            await _checkpoint(session, project_id, adapter.checkpoint_id), id=adapter.id, name=adapter.name
        )
    return StartAdapter(
        id=adapter.id,
        name=adapter.name,
        job=None,
        step=None,
        model=await base_models.of(session, adapter),
        model_sha256=adapter.model_sha256,
        sha256=adapter.sha256,
        bytes=adapter.bytes,
        lora=LoraShape(**(adapter.lora or {})),
    )


async def _checkpoint(session: AsyncSession, project_id: str, id: str) -> StartAdapter:
    row = await repository.usable_checkpoint(session, project_id, id)
    if row is None:
        raise NotFound(
            f"There is no checkpoint {id}.",
            code="checkpoint_not_found",
            hint="A job keeps only its three best checkpoints, the newest and the final one.",
        )
    checkpoint, job = row
    own = job.project_id == project_id
    return StartAdapter(
        id=id,
        name=f"{job.name}, step {checkpoint.step}" if own else id,
        job=job.id if own else None,
        step=checkpoint.step,
        model=await base_models.of(session, job),
        model_sha256=job.model_sha256,
        sha256=checkpoint.sha256,
        bytes=checkpoint.bytes,
        lora=_lora(job),
    )


def _lora(job: Job) -> LoraShape:
    lora = JobSpec.model_validate(job.resolved_spec).adapter
    return LoraShape(lora.rank, lora.alpha or 2.0 * lora.rank, lora.targets)
