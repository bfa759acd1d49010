"""Names of models in OpenAI's API.

    starter-arith                                                a base model, deployment or alias
    ft:<base>:<project>:<suffix>:<8 characters>                  the adapter of a finished job
    ft:<base>:<project>:<suffix>:<8 characters>:ckpt-step-<n>    a checkpoint

The eight characters follow `ftjob-` in the job's id.
"""

import re
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncSession

from backend.adapters import aliases
from backend.adapters import service as adapters
from backend.base_models import service as base_models
from backend.jobs import service as jobs
from backend.models import Adapter, BaseModel, Checkpoint, Job, Project
from reinforge.errors import NotFound

CODE_LENGTH = 8
_TUNED = re.compile(
    r"ft:(?P<base>[^:/]+):(?P<project>[^:/]*):(?P<suffix>[^:/]*):(?P<code>[0-9a-z]{8})(?::ckpt-step-(?P<step>\d{1,9}))?"
)
LISTED = "GET /v1/models lists base models, deployments, adapters of finished jobs and checkpoints."
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class NamedModel:
    base: BaseModel
    checkpoint: Checkpoint | None = None
    job: Job | None = None
    alias: Adapter | None = None
    """Adapter, if the name is an alias. An uploaded adapter has no checkpoint."""

    @property
    def weights(self) -> Checkpoint | Adapter | None:
        return self.checkpoint or self.alias

    @property
    def model_sha256(self) -> str | None:
        """SHA-256 of the base model that the weights were trained on."""
        if self.job is not None:
            return self.job.model_sha256
        return None if self.alias is None else self.alias.model_sha256


def plain(text: str) -> str:
    return _NOT_PLAIN.sub("-", text).strip("-")


def tuned(job: Job, project: Project, *, step: int | None = None) -> str:
    suffix = plain(str((job.openai or {}).get("suffix") or ""))
    name = f"ft:{job.model_id}:{plain(project.name)}:{suffix}:{job.id.removeprefix('ftjob-')[:CODE_LENGTH]}"
    return name if step is None else f"{name}:ckpt-step-{step}"


async def find(session: AsyncSession, project_id: str, name: str) -> NamedModel:
    match = _TUNED.fullmatch(name)
    if match is None:
        if (adapter := await aliases.adapter_of(session, project_id, name)) is not None:
            return await _aliased(session, adapter)
        try:
            return NamedModel(await base_models.get(session, project_id, name))
        except NotFound as error:
            if name in base_models.BUILTIN:
                raise not_found(name, error.hint) from error
            suggestion = await base_models.suggestion(session, project_id, name)
            raise not_found(name, f"`model` names a model of this server. {suggestion or LISTED}") from error
    step = match["step"]
    checkpoint = None
    job = await jobs.find_by_code(session, match["base"], match["code"])
    if job is not None and plain(str((job.openai or {}).get("suffix") or "")) == match["suffix"]:
        own = job.project_id == project_id
        if step is not None:
            checkpoint = await jobs.find_checkpoint(session, job.id, int(step))
            if (
                checkpoint is not None
                and not own
                and not await jobs.shared(session, checkpoint.id, project_id)
            ):
                checkpoint = None
        elif own:
            checkpoint = await adapters.weights(session, job.adapter_id)
    if job is None or checkpoint is None:
        raise not_found(name)
    return NamedModel(await base_models.of(session, job), checkpoint, job)


async def _aliased(session: AsyncSession, adapter: Adapter) -> NamedModel:
    base = await base_models.of(session, adapter)
    checkpoint = await adapters.weights(session, adapter.id)
    job = None if adapter.job_id is None else await session.get(Job, adapter.job_id)
    return NamedModel(base, checkpoint, job, adapter)


async def resolve(session: AsyncSession, project_id: str, name: str) -> tuple[BaseModel, Checkpoint | None]:
    model = await find(session, project_id, name)
    return model.base, model.checkpoint


def not_found(name: str, hint: str | None = None) -> NotFound:
    return NotFound(
        f"The model {name!r} does not exist or this project may not use it.",
        code="model_not_found",
        param="model",
        hint=hint or LISTED,
    )
