"""Job validation, part 2: checks on a worker."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from backend.data.objects import Objects
from backend.datasets import service as datasets
from backend.datasets.leakage.compare import HeldOutRows
from backend.datasets.leakage.report import leaks, report
from backend.datasets.reading import MOST_CHARACTERS, read_in_background
from backend.jobs.submission.environment import (
    NOT_CONTINUABLE,
    has_reply,
    no_place_for_tools,
    tools_of,
    with_listed_tools,
)
from backend.jobs.submission.validate_references import JobPlan, PinnedReward, lacking
from backend.models import Dataset
from backend.rewards import service as rewards
from backend.rpc.client import Calls
from backend.rpc.queued import QueuedRendering
from reinforge.base_models.learning_rate import AUTO, unknown_hidden_size
from reinforge.dataset import NO_PLACE_FOR_TOOLS, DatasetError, PromptRow, iter_prompts
from reinforge.dataset.columns import ColumnRoles
from reinforge.errors import InvalidInput, TooLarge, Unavailable
from reinforge.grading.multi import runs_code
from reinforge.schemas.datasets import PromptView
from reinforge.schemas.rpc.models import RENDER
from reinforge.spec import DataSpec

WAIT_SECONDS = 20.0
LONGEST_ROWS = 2000

Rows = list[PromptRow]


@dataclass(frozen=True)
class Validated:
    plan: JobPlan
    problems: list[InvalidInput]


@dataclass(frozen=True)
class LoadedRewards:
    rewards: list[PinnedReward]
    problems: list[InvalidInput]
    jail: str | None


@dataclass(frozen=True)
class MeasuredPrompts:
    longest: int
    hidden_size: int | None
    warnings: list[str]
    problem: InvalidInput | None


async def validate(plan: JobPlan, calls: Calls, objects: Objects, cache: Path) -> JobPlan:
    """Check rewards and prompts on workers; adds their measurements to the plan."""
    validated = await validate_all(plan, calls, objects, cache)
    if validated.problems:
        raise validated.problems[0]
    return validated.plan


async def validate_all(plan: JobPlan, calls: Calls, objects: Objects, cache: Path) -> Validated:
    tables = [(plan.dataset, "data.dataset")]
    if plan.held_out is not None:
        tables.append((plan.held_out, "data.held_out"))
    loaded = await load_rewards(
        plan.rewards, calls, [dataset for dataset, _ in tables], plan.spec.data.columns
    )
    problems, measured = list(loaded.problems), []
    try:
        spec = await with_listed_tools(plan.spec, plan.dataset.project_id, calls)
        plan = replace(plan, spec=spec)
    except InvalidInput as error:
        problems.append(error)
    for dataset, param in tables:
        path = await datasets.local_file(objects, dataset, cache)
        try:
            rows = await _longest(path, dataset, plan.spec.data, param)
            prompts = await _measure(plan, calls, rows, param)
            measured.append(prompts)
            problems += [prompts.problem] if prompts.problem is not None else []
        except InvalidInput as error:
            problems.append(error)
    hidden_sizes = [plan.hidden_size, *(prompts.hidden_size for prompts in measured)]
    hidden_size = next((size for size in hidden_sizes if size), None)
    if plan.spec.optimizer.learning_rate == AUTO and hidden_size is None and not problems:
        problems.append(unknown_hidden_size(plan.model.id))
    warnings = dict.fromkeys(warning for prompts in measured for warning in prompts.warnings)
    counted, leak_warnings = (plan.split, []) if problems else await _leaks(plan, objects, cache)
    plan = replace(
        plan,
        rewards=loaded.rewards,
        split=counted,
        hidden_size=hidden_size,
        warnings=[*plan.warnings, *warnings, *leak_warnings],
        jail=loaded.jail,
        longest_prompt=max((prompts.longest for prompts in measured), default=None),
    )
    return Validated(plan, problems)


async def _leaks(plan: JobPlan, objects: Objects, cache: Path) -> tuple[tuple[int, int], list[str]]:
    data = plan.spec.data
    if plan.held_out is None and plan.split[1] == 0:
        return plan.split, []
    held_out = HeldOutRows()
    if plan.held_out is None:
        held_out = HeldOutRows(rows=data.held_out_rows, seed=plan.spec.seed, split_by=data.split_by)
    view = PromptView(columns=data.columns, prompt_template=data.prompt_template)
    try:
        overlap = await report(objects, cache, plan.dataset, held_out, plan.held_out, view=view)
    except TooLarge:
        return plan.split, [
            "The dataset is too large to look for held-out prompts that are trained on as well."
        ]
    if overlap.status != "ready":
        return plan.split, [
            "The search for held-out prompts that are trained on as well is still running: "
            f"see `reinforge dataset report {plan.dataset.id}`."
        ]
    leakage = overlap.leakage
    counted = (
        plan.split if leakage is None or plan.held_out is not None else (leakage.train, leakage.held_out)
    )
    return counted, leaks(overlap)


async def load_rewards(
    pinned: Sequence[PinnedReward | None], calls: Calls, tables: Sequence[Dataset], roles: ColumnRoles
) -> LoadedRewards:
    pinned_rewards = [(index, reward) for index, reward in enumerate(pinned) if reward is not None]
    sources = [
        rewards.RewardSource(reward.name, reward.source, reward.entry, f"rewards[{index}].{_origin(reward)}")
        for index, reward in pinned_rewards
    ]
    loaded, jail = await rewards.load(calls, sources)
    if jail is None and any(needs_sandbox(reward) for _, reward in pinned_rewards):
        raise Unavailable(
            "The worker has no sandbox in which rewards could run.",
            code="sandbox_unavailable",
            hint="Run `python -m worker.sandbox probe` on the worker to see what is missing.",
        )
    problems: list[InvalidInput] = []
    with_entries: list[PinnedReward] = []
    for (index, reward), answer in zip(pinned_rewards, loaded, strict=True):
        try:
            if answer.error is not None:
                raise answer.error
            if reward.grader is None:
                names = [entry["name"] for entry in answer.entries]
                reward = replace(reward, entry=_entry(reward, names, f"rewards[{index}]"))
            reads = rewards.columns_read(reward.source, reward.entry, answer.entries)
            problems += lacking(reward, index, reads, tables, roles)
        except InvalidInput as error:
            problems.append(error)
        with_entries.append(reward)
    return LoadedRewards(with_entries, problems, jail)


def needs_sandbox(reward: PinnedReward) -> bool:
    return reward.grader is None or runs_code(reward.grader)


def _origin(reward: PinnedReward) -> str:
    if reward.grader is not None and reward.reward_id is None:
        return "type"
    return "source" if reward.reward_id is None else "reward"


def _entry(reward: PinnedReward, names: list[str], param: str) -> str:
    if reward.entry is not None:
        if reward.entry not in names:
            raise InvalidInput(
                f"The reward {reward.name!r} defines no function {reward.entry!r}.",
                code="unknown_entry",
                param=f"{param}.entry",
                hint=f"It defines: {', '.join(names)}.",
            )
        return reward.entry
    if len(names) == 1:
        return names[0]
    if "grade" in names:
        return "grade"
    if not names:
        raise InvalidInput(
            f"The reward {reward.name!r} defines no reward function.",
            code="invalid_reward",
            param=f"{param}.{_origin(reward)}",
            hint="Define grade(sample, item), reward_fn(prompt, completion, example) or f(prompts, completions, …).",
        )
    raise InvalidInput(
        f"The reward {reward.name!r} defines several functions.",
        code="ambiguous_entry",
        param=f"{param}.entry",
        hint=f"Name one of {', '.join(names)} as `entry`.",
    )


async def _longest(path: Path, dataset: Dataset, data: DataSpec, param: str) -> Rows:
    arguments = (str(path), dataset.format, data.model_dump_json())
    result, failure = await read_in_background(dataset, read_longest, *arguments)
    if failure is not None:
        at_fault = "data.prompt_template" if data.prompt_template else param
        raise InvalidInput(**failure | {"param": failure["param"] or at_fault})
    return result


def read_longest(path: str, format: str, data: str) -> tuple[Rows, dict[str, Any] | None]:
    try:
        return longest_prompts(path, format, data), None
    except DatasetError as error:
        fields = {"message": str(error), "code": error.code, "hint": error.hint}
        return [], fields | {"param": error.param, "errors": error.errors}


def longest_prompts(path: str, format: str, data: str) -> Rows:
    spec = DataSpec.model_validate_json(data)
    heap: list[tuple[int, int, PromptRow]] = []
    rows = iter_prompts(
        path,
        format,  # type: ignore[arg-type]
        roles=spec.columns,
        template=spec.prompt_template,
        system_prompt=spec.system_prompt,
    )
    for row in rows:
        item = (row.characters, -row.index, PromptRow(row.index, {}, row.messages, row.tools))
        if len(heap) < LONGEST_ROWS:
            heapq.heappush(heap, item)
        elif item > heap[0]:
            heapq.heapreplace(heap, item)
    chosen: Rows = []
    characters = 0
    for size, _, row in sorted(heap, reverse=True, key=lambda entry: entry[:2]):
        characters += size
        if chosen and characters > MOST_CHARACTERS:
            break
        chosen.append(row)
    return chosen


async def _measure(plan: JobPlan, calls: Calls, rows: Rows, param: str) -> MeasuredPrompts:
    tools = tools_of(plan.spec)
    request = QueuedRendering(
        model_key=plan.model.key,
        model_source=plan.model.source,
        rows=[row.messages for row in rows],
        tools=[tools or row.tools for row in rows],
        tool_turns=tools,
        user_turns=has_reply(plan.spec),
    )
    try:
        result = await calls.ask(RENDER, request, timeout=WAIT_SECONDS)
    except InvalidInput as error:
        if error.code == NOT_CONTINUABLE:
            raise
        raise _refused_prompts(error, rows, param) from error
    longest, limit = result.longest, plan.prompt_limit
    if longest is None:
        raise RENDER.malformed_result(
            "it does not say which row is the longest, although all rows were rendered"
        )
    context = result.context_length
    if limit is None and context is not None:
        limit = context - plan.spec.rollout.max_completion_tokens
    problem = None
    if limit is not None and longest.tokens > limit:
        problem = _too_long(plan, rows[longest.index].index + 1, longest.tokens, limit, context, param)
    if tools is not None and not result.takes_tools:
        raise no_place_for_tools(plan.model.id)
    tools_are_ignored = any(row.tools for row in rows) and not result.takes_tools
    warnings = [NO_PLACE_FOR_TOOLS] if tools_are_ignored else []
    return MeasuredPrompts(longest.tokens, result.hidden_size, warnings, problem)


def _too_long(
    plan: JobPlan, row: int, tokens: int, limit: int, context: int | None, param: str
) -> InvalidInput:
    rollout = plan.spec.rollout
    explicit = rollout.max_prompt_tokens is not None
    return InvalidInput(
        f"The prompt of row {row} has {tokens} tokens; at most {limit} fit.",
        code="prompt_too_long",
        param="rollout.max_prompt_tokens" if explicit else param,
        hint="Shorten the prompts"
        + (
            ", or raise rollout.max_prompt_tokens."
            if explicit
            else f", or lower rollout.max_completion_tokens ({rollout.max_completion_tokens}): "
            f"both share the model's context of {context or plan.model.context_length}."
        ),
    )


def _refused_prompts(error: InvalidInput, rows: Rows, param: str) -> InvalidInput:
    if error.param != "data.dataset":  # the model itself cannot be used
        return InvalidInput(
            error.message, code=error.code, hint=error.hint, param="model", errors=error.errors
        )
    errors = [
        problem | {"row": rows[problem["row"]].index + 1, "param": param} if "row" in problem else problem
        for problem in error.errors
    ]
    numbers = [problem["row"] for problem in errors if "row" in problem]
    where = f"Row {numbers[0]}: " if numbers else ""
    return InvalidInput(where + error.message, code=error.code, hint=error.hint, param=param, errors=errors)
