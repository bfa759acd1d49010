"""Job validation, part 2: checks on a worker. Rewards load in a sandbox; prompts fit the model."""

import heapq
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from backend.base_models import service as base_models
from backend.data.objects import Objects
from backend.datasets import service as datasets
from backend.datasets.leakage.compare import HeldOut
from backend.datasets.leakage.report import leaks, report
from backend.datasets.reading import MOST_CHARACTERS, read_in_background
from backend.jobs.submission.validate_references import PinnedReward, Plan, lacking
from backend.models import Dataset
from backend.rewards import service as rewards
from backend.rpc.client import Calls
from reinforge.base_models.learning_rate import AUTO, unknown_hidden_size
from reinforge.dataset import NO_PLACE_FOR_TOOLS, DatasetError, PromptRow, iter_prompts
from reinforge.errors import InvalidInput, TooLarge, Unavailable
from reinforge.grading.multi import runs_code
from reinforge.schemas.datasets import PromptView
from reinforge.spec import ColumnRoles, DataSpec

WAIT_SECONDS = 20.0
"""Maximum duration of the client's POST."""
LONGEST_ROWS = 2000

Rows = list[PromptRow]


async def ask_workers(plan: Plan, calls: Calls, objects: Objects, cache: Path) -> None:
    """Check rewards and prompts on workers; fills in entries, sandbox and the longest prompt.

    Raises InvalidInput with `param`, Unavailable (`no_worker`, `call_timeout`, `sandbox_unavailable`).
    """
    problems = await examine(plan, calls, objects, cache)
    if problems:
        raise problems[0]


async def examine(plan: Plan, calls: Calls, objects: Objects, cache: Path) -> list[InvalidInput]:
    """Like `ask_workers`, but returns all problems instead of raising the first. Raises Unavailable."""
    tables = [table for table in (plan.dataset, plan.held_out) if table is not None]
    problems, plan.jail = await examine_rewards(plan.rewards, calls, tables, plan.spec.data.columns)
    checks = [(plan.dataset, "data.dataset")]
    if plan.held_out is not None:
        checks.append((plan.held_out, "data.held_out"))
    for dataset, param in checks:
        path = await datasets.local_file(objects, dataset, cache)
        try:
            rows = await _longest(path, dataset, plan.spec.data, param)
            await _check_prompts(plan, calls, rows, param)
        except InvalidInput as error:
            problems.append(error)
    if plan.spec.optimizer.learning_rate == AUTO and plan.hidden_size is None and not problems:
        problems.append(unknown_hidden_size(plan.model.id))
    if not problems:
        plan.warnings += await _leaks(plan, objects, cache)
    return problems


async def _leaks(plan: Plan, objects: Objects, cache: Path) -> list[str]:
    """Warnings about held-out prompts that also train; counts a split by prompts."""
    data = plan.spec.data
    if plan.held_out is None and plan.split[1] == 0:
        return []
    split = HeldOut()
    if plan.held_out is None:
        split = HeldOut(rows=data.held_out_rows, seed=plan.spec.seed, split_by=data.split_by)
    view = PromptView(columns=data.columns, prompt_template=data.prompt_template)
    try:
        overlap = await report(objects, cache, plan.dataset, split, plan.held_out, view=view)
    except TooLarge:
        return ["The dataset is too large to look for held-out prompts that are trained on as well."]
    if overlap.status != "ready":
        return [
            "Whether held-out prompts are trained on as well is still being looked at: "
            f"`reinforge dataset report {plan.dataset.id}` tells."
        ]
    if overlap.leakage is not None and plan.held_out is None:
        plan.split = (overlap.leakage.train, overlap.leakage.held_out)
    return leaks(overlap)


async def examine_rewards(
    pinned: Sequence[PinnedReward | None], calls: Calls, tables: Sequence[Dataset], roles: ColumnRoles
) -> tuple[list[InvalidInput], str | None]:
    """Problems of the rewards, also with the data's columns, and the sandbox that loaded them; fills in
    entries.

    Raises Unavailable.
    """
    pinned_rewards = [(index, reward) for index, reward in enumerate(pinned) if reward is not None]
    sources = [
        rewards.Source(reward.name, reward.source, reward.entry, f"rewards[{index}].{_origin(reward)}")
        for index, reward in pinned_rewards
    ]
    loaded, jail = await rewards.load(calls, sources)
    if jail is None and any(needs_sandbox(reward) for _, reward in pinned_rewards):
        raise Unavailable(
            "The worker has no sandbox in which rewards could run.",
            code="sandbox_unavailable",
            hint="`python -m worker.sandbox probe` on the worker tells what is missing.",
        )
    problems = []
    for (index, reward), answer in zip(pinned_rewards, loaded, strict=True):
        try:
            if answer.error is not None:
                raise answer.error
            if reward.grader is None:
                names = [entry["name"] for entry in answer.entries]
                reward.entry = _entry(reward, names, f"rewards[{index}]")
            problems += lacking(
                reward,
                index,
                rewards.columns_read(reward.source, reward.entry, answer.entries),
                tables,
                roles,
            )
        except InvalidInput as error:
            problems.append(error)
    return problems, jail


def needs_sandbox(reward: PinnedReward) -> bool:
    return reward.grader is None or runs_code(reward.grader)


def _origin(reward: PinnedReward) -> str:
    if reward.grader is not None and reward.reward_id is None:
        return "type"
    return "source" if reward.reward_id is None else "reward"


def _entry(reward: PinnedReward, names: list[str], param: str) -> str:
    """The function to call: the named one, the only one, or `grade`. Raises InvalidInput."""
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
    """The rows with the longest prompts; checks that every row has a prompt. Raises InvalidInput."""
    arguments = (str(path), dataset.format, data.model_dump_json())
    result, failure = await read_in_background(dataset, read_longest, *arguments)
    if failure is not None:
        at_fault = "data.prompt_template" if data.prompt_template else param
        raise InvalidInput(**failure | {"param": failure["param"] or at_fault})
    return result


def read_longest(path: str, format: str, data: str) -> tuple[Rows, dict[str, Any] | None]:
    """`longest_prompts` or its error as plain values, for a child process."""
    try:
        return longest_prompts(path, format, data), None
    except DatasetError as error:
        fields = {"message": str(error), "code": error.code, "hint": error.hint}
        return [], fields | {"param": error.param, "errors": error.errors}


def longest_prompts(path: str, format: str, data: str) -> Rows:
    """At most `LONGEST_ROWS` rows, longest prompt first, without their other columns. Raises DatasetError."""
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


async def _check_prompts(plan: Plan, calls: Calls, rows: Rows, param: str) -> None:
    payload = {
        **base_models.named_in_call(plan.model),
        "rows": [row.messages for row in rows],
        "tools": [row.tools for row in rows],
        "max_prompt_tokens": plan.prompt_limit,
    }
    try:
        answer = await calls.ask("render", payload, timeout=WAIT_SECONDS)
    except InvalidInput as error:
        raise _refused_prompts(error, rows, param) from error
    if any(row.tools for row in rows) and not answer.get("takes_tools"):
        plan.warnings += [] if NO_PLACE_FOR_TOOLS in plan.warnings else [NO_PLACE_FOR_TOOLS]
    longest, limit = answer["longest"], plan.prompt_limit
    plan.longest_prompt = max(plan.longest_prompt or 0, longest["tokens"])
    plan.hidden_size = plan.hidden_size or answer.get("hidden_size")
    context = answer.get("context_length")
    if limit is None and context is not None:
        limit = context - plan.spec.rollout.max_completion_tokens
    if limit is not None and longest["tokens"] > limit:
        explicit = plan.spec.rollout.max_prompt_tokens is not None
        number = rows[longest["index"]].index + 1
        raise InvalidInput(
            f"The prompt of row {number} has {longest['tokens']} tokens; at most {limit} fit.",
            code="prompt_too_long",
            param="rollout.max_prompt_tokens" if explicit else param,
            hint="Shorten the prompts"
            + (
                ", or raise rollout.max_prompt_tokens."
                if explicit
                else f", or lower rollout.max_completion_tokens ({plan.spec.rollout.max_completion_tokens}): "
                f"both share the model's context of {context or plan.model.context_length}."
            ),
        )


def _refused_prompts(error: InvalidInput, rows: Rows, param: str) -> InvalidInput:
    """Translate a `render` error to the job's rows and fields."""
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
