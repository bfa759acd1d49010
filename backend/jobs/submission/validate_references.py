"""Job validation, part 1: references. Every error is an InvalidInput with `param`."""

import hashlib
from collections.abc import Awaitable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy.ext.asyncio import AsyncSession

from backend.base_models import service as base_models
from backend.datasets import service as datasets
from backend.jobs.submission.engines import auto_engine, engine_missing
from backend.jobs.submission.environment import environment_problems
from backend.jobs.submission.start_adapter import StartAdapter, start_of
from backend.judges import service as judges
from backend.models import BaseModel, Dataset
from backend.rewards import service as rewards
from backend.trackers import service as trackers
from reinforge.base_models.start_adapter import with_start
from reinforge.dataset import check_roles, shadowed_answer, split
from reinforge.dataset.columns import ColumnRoles
from reinforge.errors import InvalidInput, NotFound
from reinforge.grading.multi import Grader, canonical, columns
from reinforge.grading.source import parse_grader
from reinforge.reward_spec import PythonReward, Reward, StoredGrader, grader_of, judges_of
from reinforge.reward_spec.columns import missing_columns
from reinforge.spec import JobSpec

T = TypeVar("T")


@dataclass(frozen=True)
class PinnedReward:
    name: str
    source: str
    entry: str | None
    reward_id: str | None = None
    revision: int | None = None
    grader: Grader | None = None

    @property
    def kind(self) -> str:
        return "python" if self.grader is None else "grader"

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.source.encode()).hexdigest()


@dataclass(frozen=True)
class JobPlan:
    spec: JobSpec
    model: BaseModel
    dataset: Dataset
    held_out: Dataset | None
    rewards: Sequence[PinnedReward]
    split: tuple[int, int]
    hidden_size: int | None
    engine: str
    start: StartAdapter | None = None
    warnings: Sequence[str] = ()
    jail: str | None = None
    longest_prompt: int | None = None

    @property
    def prompt_limit(self) -> int | None:
        return _prompt_limit(self.spec, self.model)


@dataclass(frozen=True)
class Survey:
    plan: JobPlan | None
    rewards: list[PinnedReward | None]
    problems: list[InvalidInput]
    datasets: list[Dataset]


async def look_up(
    session: AsyncSession, project_id: str, spec: JobSpec, start: StartAdapter | None = None
) -> JobPlan:
    """Resolve references and check that they fit together."""
    result = await survey(session, project_id, spec, start)
    if result.plan is None:
        raise result.problems[0]
    return result.plan


async def survey(
    session: AsyncSession, project_id: str, spec: JobSpec, start: StartAdapter | None = None
) -> Survey:
    problems: list[InvalidInput] = []

    async def collect(lookup: Awaitable[T]) -> T | None:
        try:
            return await lookup
        except InvalidInput as error:
            problems.append(error)
            return None

    spec, start, model = await collect(_policy(session, project_id, spec, start)) or (spec, None, None)
    dataset = await collect(_dataset(session, project_id, spec.data.dataset, "data.dataset"))
    held_out = None
    if spec.data.held_out is not None:
        held_out = await collect(_dataset(session, project_id, spec.data.held_out, "data.held_out"))
    pinned = [
        await collect(_reward(session, project_id, reward, index))
        for index, reward in enumerate(spec.rewards)
    ]
    problems += await _judge_problems(session, project_id, spec, pinned)
    problems += await trackers.check_exports(session, project_id, spec.export)
    problems += _column_problems(spec, dataset, held_out)
    tables = [table for table in (dataset, held_out) if table is not None]
    problems += environment_problems(spec, tables)
    for index, (reward, pin) in enumerate(zip(spec.rewards, pinned, strict=True)):
        if pin is not None:
            problems += lacking(pin, index, _templates_read(reward, pin), tables, spec.data.columns)
    if model is not None:
        problems += _model_problems(spec, model)
    rows = (0, 0)
    if dataset is not None and (held_out is not None or spec.data.held_out is None):
        try:
            rows = _split(spec, dataset, held_out)
        except InvalidInput as error:
            problems.append(error)
    plan = None
    if model is not None and dataset is not None and not problems:
        missing = await engine_missing(session, spec.rollout.engine)
        plan = JobPlan(
            spec,
            model,
            dataset,
            held_out,
            rewards=[pin for pin in pinned if pin is not None],
            split=rows,
            hidden_size=base_models.hidden_size(model),
            engine=await auto_engine(session),
            start=start,
            warnings=[
                *([missing] if missing else []),
                *_shadowed(tables, spec.data.columns),
                *_split_warnings(spec, dataset, rows),
            ],
        )
    return Survey(plan, pinned, problems, tables)


async def _policy(
    session: AsyncSession, project_id: str, spec: JobSpec, start: StartAdapter | None
) -> tuple[JobSpec, StartAdapter | None, BaseModel]:
    start = start or await start_of(session, project_id, spec)
    if start is None:
        return spec, None, await base_models.get_usable(session, project_id, spec.model)
    return with_start(spec, start.id, start.lora, model=start.model.id), start, start.model


def _prompt_limit(spec: JobSpec, model: BaseModel) -> int | None:
    rollout, context = spec.rollout, model.context_length
    room = None if context is None else context - rollout.max_completion_tokens
    if rollout.max_prompt_tokens is None:
        return room
    return rollout.max_prompt_tokens if room is None else min(rollout.max_prompt_tokens, room)


async def _dataset(session: AsyncSession, project_id: str, id: str, param: str) -> Dataset:
    try:
        dataset = await datasets.get(session, project_id, id, lock=True)
    except NotFound as error:
        raise _refused(error, param) from error
    if dataset.rows == 0:
        raise InvalidInput(f"The dataset {id} has no rows.", code="empty_dataset", param=param)
    return dataset


async def _reward(session: AsyncSession, project_id: str, reward: Reward, index: int) -> PinnedReward:
    param = f"rewards[{index}]"
    if not isinstance(reward, PythonReward | StoredGrader):
        return _grader(reward.name, grader_of(reward))
    if reward.path is not None:
        raise InvalidInput(
            "The server cannot read the file that `path` names, because it is on your computer.",
            code="path_not_allowed",
            param=f"{param}.path",
            hint="Write the reward itself into the job, or store it and set `reward` to its id.",
        )
    if reward.reward is None:
        if isinstance(reward, StoredGrader):
            return _grader(reward.name, reward.grader)
        return PinnedReward(reward.name, reward.source or "", reward.entry)
    try:
        stored, revision = await rewards.get_revision(session, project_id, reward.reward, reward.revision)
    except NotFound as error:
        reward_exists = error.code != "reward_revision_not_found"
        raise _refused(error, f"{param}.reward" if reward_exists else f"{param}.revision") from error
    if revision.kind == "grader":
        grader = parse_grader(revision.source, f"{param}.reward")
        return PinnedReward(reward.name, revision.source, None, stored.id, revision.revision, grader)
    if isinstance(reward, StoredGrader):
        raise InvalidInput(
            f"The reward {stored.id} is Python code, but `type: grader` needs a grader (JSON).",
            code="other_kind",
            param=f"{param}.type",
            hint="Write `type: python`, or leave the type out.",
        )
    entry = reward.entry or revision.entry
    return PinnedReward(reward.name, revision.source, entry, stored.id, revision.revision)


def _grader(name: str, grader: Grader | None) -> PinnedReward:
    assert grader is not None
    return PinnedReward(name, canonical(grader), None, grader=grader)


async def _judge_problems(
    session: AsyncSession, project_id: str, spec: JobSpec, pinned: Sequence[PinnedReward | None]
) -> list[InvalidInput]:
    problems = []
    if spec.judges:
        hint = "Store them with POST /api/v1/judges (`reinforge judge add`); graders name them as `model`."
        problems.append(
            InvalidInput(
                "`judges` in a job file works with `reinforge train` only.",
                code="judges_not_allowed",
                param="judges",
                hint=hint,
            )
        )
    for index, (reward, pin) in enumerate(zip(spec.rewards, pinned, strict=True)):
        if pin is None:
            continue
        for name in await judges.missing(session, project_id, judges_of(reward, pin.grader)):
            problems.append(
                InvalidInput(
                    f"The project has no judge {name!r}.",
                    code="unknown_judge",
                    param=f"rewards[{index}].model",
                    hint="Add it with `reinforge judge add`; `reinforge judge list` shows those that exist.",
                )
            )
    return problems


def _templates_read(reward: Reward, pin: PinnedReward) -> frozenset[str]:
    judging = reward.judges.values() if isinstance(reward, PythonReward) else ()
    graders = [*judging, *([pin.grader] if pin.grader is not None else [])]
    return frozenset().union(*map(columns, graders))


def lacking(
    reward: PinnedReward, index: int, reads: Collection[str], tables: Sequence[Dataset], roles: ColumnRoles
) -> list[InvalidInput]:
    param = f"rewards[{index}]"
    return [
        problem
        for table in tables
        for problem in missing_columns(
            reward.name,
            reads,
            table.name,
            [str(column["name"]) for column in table.columns],
            roles,
            param=param,
        )
    ]


def _shadowed(tables: Sequence[Dataset], roles: ColumnRoles) -> list[str]:
    notes = [shadowed_answer([str(column["name"]) for column in table.columns], roles) for table in tables]
    return list(dict.fromkeys(note for note in notes if note is not None))


def _refused(error: NotFound, param: str) -> InvalidInput:
    return InvalidInput(error.message, code=error.code, hint=error.hint, param=param)


def _column_problems(
    spec: JobSpec, dataset: Dataset | None, held_out: Dataset | None
) -> Iterator[InvalidInput]:
    data = spec.data
    for table, param in ((dataset, "data.dataset"), (held_out, "data.held_out")):
        if table is None:
            continue
        try:
            check_roles([column["name"] for column in table.columns], data.columns, data.prompt_template)
        except InvalidInput as error:
            error.param = error.param or param
            yield error


def _split(spec: JobSpec, dataset: Dataset, held_out: Dataset | None) -> tuple[int, int]:
    if held_out is not None:
        return dataset.rows, held_out.rows
    training_rows, held_out_rows = split(dataset.rows, spec.data.held_out_rows, spec.seed)
    return len(training_rows), len(held_out_rows)


def _split_warnings(spec: JobSpec, dataset: Dataset, rows: tuple[int, int]) -> Iterator[str]:
    training, held_out = rows
    note = datasets.nothing_held_out(dataset.rows, held_out, spec.data.held_out_rows)
    if note is not None and spec.data.held_out_rows != 0:
        yield note
    if training < spec.rollout.prompts_per_step:
        yield (
            f"A step takes {spec.rollout.prompts_per_step} prompts but only {training} rows train: rows repeat "
            "within a step."
        )


def _model_problems(spec: JobSpec, model: BaseModel) -> Iterator[InvalidInput]:
    limit = _prompt_limit(spec, model)
    if limit is not None and limit < 1:
        yield InvalidInput(
            f"{spec.rollout.max_completion_tokens} completion tokens leave no room for a prompt in a context of "
            f"{model.context_length}.",
            code="context_too_short",
            param="rollout.max_completion_tokens",
            hint=f"Use less than {model.context_length}.",
        )
    elif (
        (prompt_tokens := spec.rollout.max_prompt_tokens) is not None
        and limit is not None
        and prompt_tokens > limit
    ):
        yield InvalidInput(
            f"{prompt_tokens} prompt tokens and {spec.rollout.max_completion_tokens} completion tokens do not fit into "
            f"a context of {model.context_length}.",
            code="context_too_short",
            param="rollout.max_prompt_tokens",
            hint=f"Use at most {limit}.",
        )
    if spec.base.precision == "nf4" and "experts" in model.lora_targets:
        yield InvalidInput(
            f"{model.id} is a mixture of experts, whose experts bitsandbytes does not quantise.",
            code="nf4_experts",
            param="base.precision",
            hint="Leave base.precision out.",
        )
    if isinstance(spec.adapter.targets, list):
        unknown = sorted(set(spec.adapter.targets) - set(model.lora_targets))
        if unknown or not spec.adapter.targets:
            yield InvalidInput(
                f"{model.id} has no layer {', '.join(unknown)} for an adapter."
                if unknown
                else "`adapter.targets` names no layer.",
                code="unknown_target",
                param="adapter.targets",
                hint=f"It has: {', '.join(model.lora_targets)}; or set all-linear."
                + (" A router of experts gets no adapter." if "experts" in model.lora_targets else ""),
            )
