"""Validation of a job before anything is stored, part 1: what the database knows.

Every refusal is an InvalidInput that names the field at fault as `param`.
"""

import hashlib
from dataclasses import dataclass, field

from sqlalchemy.ext.asyncio import AsyncSession

from backend.base_models import service as base_models
from backend.datasets import service as datasets
from backend.models import BaseModel, Dataset
from backend.rewards import service as rewards
from reinforge.dataset import check_roles, split
from reinforge.errors import InvalidInput, NotFound
from reinforge.spec import JobSpec, PythonReward


@dataclass
class PinnedReward:
    """A reward's code as the job will run it; `reward_id` and `revision` when it is a stored one."""

    name: str
    source: str
    entry: str | None
    reward_id: str | None = None
    revision: int | None = None

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.source.encode()).hexdigest()


@dataclass
class Plan:
    """Everything that a specification refers to."""

    spec: JobSpec
    model: BaseModel
    dataset: Dataset
    held_out: Dataset | None
    rewards: list[PinnedReward]
    warnings: list[str] = field(default_factory=list)
    jail: str | None = None

    @property
    def prompt_limit(self) -> int | None:
        """Longest prompt in tokens; None when the model's context is unknown and none was asked for."""
        rollout, context = self.spec.rollout, self.model.context_length
        room = None if context is None else context - rollout.max_completion_tokens
        if rollout.max_prompt_tokens is None:
            return room
        return rollout.max_prompt_tokens if room is None else min(rollout.max_prompt_tokens, room)


async def look_up(session: AsyncSession, project_id: str, spec: JobSpec) -> Plan:
    """Find what the specification names and check that it fits together. Raises InvalidInput."""
    model = await base_models.get_usable(session, project_id, spec.model)
    dataset = await _dataset(session, project_id, spec.data.dataset, "data.dataset")
    held_out = None
    if spec.data.held_out is not None:
        held_out = await _dataset(session, project_id, spec.data.held_out, "data.held_out")
    pinned = [await _reward(session, project_id, reward, i) for i, reward in enumerate(spec.rewards)]
    plan = Plan(spec, model, dataset, held_out, pinned)
    _check_columns(plan)
    _check_split(plan)
    _check_model(plan)
    return plan


async def _dataset(session: AsyncSession, project_id: str, id: str, param: str) -> Dataset:
    try:
        dataset = await datasets.get(session, project_id, id, lock=True)
    except NotFound as error:
        raise _refused(error, param) from error
    if dataset.rows == 0:
        raise InvalidInput(f"The dataset {id} has no rows.", code="empty_dataset", param=param)
    return dataset


async def _reward(session: AsyncSession, project_id: str, reward: PythonReward, index: int) -> PinnedReward:
    param = f"rewards[{index}]"
    if reward.path is not None:
        raise InvalidInput(
            "A path names a file on your machine, which the server cannot read.",
            code="path_not_allowed",
            param=f"{param}.path",
            hint="Send the code as `source`, or store it as a reward and name its id.",
        )
    if reward.reward is None:
        return PinnedReward(reward.name, reward.source or "", reward.entry)
    try:
        stored, revision = await rewards.get_revision(session, project_id, reward.reward, reward.revision)
    except NotFound as error:
        known = error.code != "reward_revision_not_found"
        raise _refused(error, f"{param}.reward" if known else f"{param}.revision") from error
    entry = reward.entry or revision.entry
    return PinnedReward(reward.name, revision.source, entry, stored.id, revision.revision)


def _refused(error: NotFound, param: str) -> InvalidInput:
    """Something that the request names and that is not there: the request is at fault."""
    return InvalidInput(error.message, code=error.code, hint=error.hint, param=param)


def _check_columns(plan: Plan) -> None:
    data = plan.spec.data
    for dataset, param in ((plan.dataset, "data.dataset"), (plan.held_out, "data.held_out")):
        if dataset is None:
            continue
        try:
            check_roles([column["name"] for column in dataset.columns], data.columns, data.prompt_template)
        except InvalidInput as error:
            error.param = error.param or param
            raise


def _check_split(plan: Plan) -> None:
    spec, rows = plan.spec, plan.dataset.rows
    if plan.held_out is None:
        training, held_out = split(rows, spec.data.held_out_rows, spec.seed)
        note = datasets.nothing_held_out(rows, len(held_out), spec.data.held_out_rows)
        if note is not None and spec.data.held_out_rows != 0:
            plan.warnings.append(note)
        rows = len(training)
    if rows < spec.rollout.prompts_per_step:
        plan.warnings.append(
            f"A step takes {spec.rollout.prompts_per_step} prompts but only {rows} rows train: rows repeat "
            "within a step."
        )


def _check_model(plan: Plan) -> None:
    spec, model = plan.spec, plan.model
    limit = plan.prompt_limit
    if limit is not None and limit < 1:
        raise InvalidInput(
            f"{spec.rollout.max_completion_tokens} completion tokens leave no room for a prompt in a context of "
            f"{model.context_length}.",
            code="context_too_short",
            param="rollout.max_completion_tokens",
            hint=f"Use less than {model.context_length}.",
        )
    wanted = spec.rollout.max_prompt_tokens
    if wanted is not None and limit is not None and wanted > limit:
        raise InvalidInput(
            f"{wanted} prompt tokens and {spec.rollout.max_completion_tokens} completion tokens do not fit into a "
            f"context of {model.context_length}.",
            code="context_too_short",
            param="rollout.max_prompt_tokens",
            hint=f"Use at most {limit}.",
        )
    if isinstance(spec.adapter.targets, list):
        unknown = sorted(set(spec.adapter.targets) - set(model.lora_targets))
        if unknown or not spec.adapter.targets:
            raise InvalidInput(
                f"{model.id} has no layer {', '.join(unknown)}." if unknown else "No layer is named.",
                code="unknown_target",
                param="adapter.targets",
                hint=f"It has: {', '.join(model.lora_targets)}; or say all-linear.",
            )
