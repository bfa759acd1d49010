"""Forks: jobs that continue from a step of another job."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.http.errors import validation_error
from backend.jobs.lifecycle import changes
from backend.models import Checkpoint, Job, JobReward, ResumeState
from reinforge.errors import InvalidInput, NotFound
from reinforge.records import Carried, RewardChange
from reinforge.schemas.jobs import JobFork, JobStart
from reinforge.spec import JobSpec

BEFORE_ATTEMPTS = 0


@dataclass(frozen=True)
class Start:
    step: int
    sha256: str
    bytes: int
    whole: bool
    held_out_reward: float | None


@dataclass(frozen=True)
class Fork:
    source: Job
    start: Start
    spec: JobSpec
    carried: list[Carried]

    @property
    def default_name(self) -> str:
        return f"{self.source.name}, from step {self.start.step}"


async def starts(session: AsyncSession, job_id: str) -> list[Start]:
    states = await session.scalars(
        select(ResumeState).where(ResumeState.job_id == job_id, ResumeState.step > 0)
    )
    checkpoints = {
        checkpoint.step: checkpoint
        for checkpoint in await session.scalars(select(Checkpoint).where(Checkpoint.job_id == job_id))
    }
    start_by_step = {
        step: Start(step, checkpoint.sha256, checkpoint.bytes, False, checkpoint.held_out_reward)
        for step, checkpoint in checkpoints.items()
        if step > 0
    }
    for state in states:
        if state.attempt == BEFORE_ATTEMPTS:
            continue  # a fork that has not started: fork its source instead
        reward = checkpoints[state.step].held_out_reward if state.step in checkpoints else None
        start_by_step[state.step] = Start(state.step, state.sha256, state.bytes, True, reward)
    return [start_by_step[step] for step in sorted(start_by_step, reverse=True)]


async def plan(session: AsyncSession, source: Job, body: JobFork) -> Fork:
    start = _chosen(await starts(session, source.id), body.step)
    before = await spec_at(session, source, start.step)
    spec = _changed(source, before, body)
    _check(before, spec, start.step)
    return Fork(source, start, spec, carried(before, spec, whole=start.whole))


async def spec_from_base(session: AsyncSession, source: Job, body: JobFork) -> JobSpec:
    """Specification of a job that starts where `source` started. Raises InvalidInput if it is invalid."""
    return _changed(source, await spec_at(session, source, 0), body)


def store(session: AsyncSession, job: Job, fork: Fork) -> None:
    if job.model_sha256 != fork.source.model_sha256:
        raise InvalidInput(
            f"The files of {job.model_id} differ from those that {fork.source.id} was trained on.",
            code="incompatible",
            param="set.model",
            hint="Restore the old files, or start a new job that does not continue this one.",
        )
    job.forked_from_id, job.forked_step, job.carried = fork.source.id, fork.start.step, list(fork.carried)
    job.step = fork.start.step
    session.add(
        ResumeState(
            job_id=job.id,
            step=fork.start.step,
            attempt=BEFORE_ATTEMPTS,
            sha256=fork.start.sha256,
            bytes=fork.start.bytes,
        )
    )


async def spec_at(session: AsyncSession, job: Job, step: int) -> JobSpec:
    spec = copy.deepcopy(job.resolved_spec)
    rewards = await session.scalars(select(JobReward).where(JobReward.job_id == job.id))
    places = {reward.name: reward.position for reward in rewards}
    for scheduled_change in await changes.scheduled(session, job.id):
        if scheduled_change.step > step:
            continue
        if isinstance(scheduled_change.change, RewardChange):
            id, _, revision = scheduled_change.change.revision.partition("@")
            pinned = {"reward": id, "revision": int(revision)}
            if scheduled_change.change.kind == "python":
                pinned |= {"source": None, "entry": scheduled_change.change.entry}
            spec["rewards"][places[scheduled_change.change.name]] |= pinned
        else:
            set_path(spec, scheduled_change.change.setting, scheduled_change.change.value)
    return JobSpec.model_validate(spec)


def accepts(resolved_spec: dict[str, Any], step: int, changes: Mapping[str, Any]) -> bool:
    """Whether the changed specification is valid and has steps after `step`. Ignores the model's context
    length.
    """
    spec = copy.deepcopy(resolved_spec)
    try:
        for path, value in changes.items():
            set_path(spec, path, copy.deepcopy(value))
        return JobSpec.model_validate(spec).limits.steps > step
    except (InvalidInput, ValidationError):
        return False


def set_path(spec: dict[str, Any], path: str, value: Any) -> None:
    if path == "algorithm.preset":
        spec["algorithm"] = {"preset": value}
        return
    *parents, last = path.split(".")
    part: Any = spec
    for name in parents:
        part = _part(part, name)
    if not isinstance(part, dict) or not last:
        raise InvalidInput(
            f"A specification has no field {path!r}.",
            code="unknown_path",
            param="set",
            hint="Use the path of a field that the job has, or set the enclosing part as a whole.",
        )
    part[last] = value
    if path == "optimizer.learning_rate":
        part["initial_learning_rate"] = None  # the new rate applies at once


def _part(parent: Any, name: str) -> Any:
    if isinstance(parent, dict):
        return parent.get(name)
    if isinstance(parent, list) and name.isascii() and name.isdecimal() and len(name) < 4:
        return parent[int(name)] if int(name) < len(parent) else None
    return None


def carried(before: JobSpec, after: JobSpec, *, whole: bool) -> list[Carried]:
    parts: list[Carried] = ["weights"]
    old, new = before.algorithm, after.algorithm
    if whole:
        parts.append("optimizer")
        if old.model_dump(exclude={"preset"}) == new.model_dump(exclude={"preset"}):
            parts.append("algorithm")
        if old.critic.type != "none" and old.critic == new.critic:
            parts.append("critic")
        if old.reference.refresh_every and new.reference.refresh_every:
            parts.append("reference")
    same = ("data", "seed", "rollout.prompts_per_step")
    old_parts, new_parts = before.model_dump(), after.model_dump()
    if all(_value_at(old_parts, path) == _value_at(new_parts, path) for path in same) and (
        whole or after.data.sampling != "frontier"
    ):
        parts.append("order")
    return parts


async def family(session: AsyncSession, job: Job) -> Sequence[Job]:
    root = job
    while root.forked_from_id is not None:
        root = await session.get_one(Job, root.forked_from_id)
    tree = select(Job.id).where(Job.id == root.id).cte(recursive=True)
    tree = tree.union(select(Job.id).join(tree, Job.forked_from_id == tree.c.id))
    query = select(Job).where(Job.id.in_(select(tree.c.id)), Job.project_id == job.project_id)
    return (await session.scalars(query.order_by(Job.created_at, Job.id))).all()


def start_view(start: Start) -> JobStart:
    return JobStart(step=start.step, whole=start.whole, held_out_reward=start.held_out_reward)


def _chosen(candidates: Sequence[Start], step: int | None) -> Start:
    if not candidates:
        raise NotFound(
            "The job cannot be forked yet: it has neither a checkpoint nor a resume state.",
            code="no_start",
            hint="Request a checkpoint first.",
        )
    for start in candidates:
        if step is None or start.step == step:
            return start
    raise NotFound(
        f"No checkpoint or resume state of step {step} is stored.",
        code="no_start",
        param="step",
        hint=f"Continue from step {', '.join(str(start.step) for start in candidates)}.",
    )


def _changed(source: Job, before: JobSpec, body: JobFork) -> JobSpec:
    spec = before.model_dump(mode="json") | {"name": body.name or None}
    if "rollout.max_completion_tokens" in body.set:
        # The resolved limit of prompts is what the old limit of completions left of the context.
        spec["rollout"]["max_prompt_tokens"] = source.spec.get("rollout", {}).get("max_prompt_tokens")
    for path, value in body.set.items():
        set_path(spec, path, value)
    try:
        return JobSpec.model_validate(spec)
    except ValidationError as error:
        raise validation_error(error.errors(), spec) from error


def _check(before: JobSpec, after: JobSpec, step: int) -> None:
    for part in ("model", "adapter", "environment"):
        if getattr(before, part) != getattr(after, part):
            raise InvalidInput(
                f"A fork cannot change `{part}`: it continues weights that were trained with the old value.",
                code="incompatible",
                param=f"set.{part}",
                hint="Start a new job that does not continue this one.",
            )
    if after.limits.steps <= step:
        raise InvalidInput(
            f"The fork has no steps: it begins after step {step}, and ends after step {after.limits.steps}.",
            code="no_steps_left",
            param="set.limits.steps",
            hint=f"Set a larger total number of steps, such as limits.steps={2 * step} "
            f"(reinforge job fork … --set limits.steps={2 * step}).",
        )


def _value_at(parts: Mapping[str, Any], path: str) -> Any:
    value: Any = parts
    for name in path.split("."):
        value = value[name]
    return value
