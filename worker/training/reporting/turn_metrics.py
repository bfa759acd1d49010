"""Metrics of a step's turns and tool calls (`reinforge.metrics.turns`)."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from reinforge.tools import INVALID_CALLS
from worker.environment.base import ToolCall
from worker.rollout.collect import Rollout

MOST_TOOLS = 32
"""Maximum number of tools that get their own metrics: the most frequent."""

Values = dict[str, float | None]


def turn_values(rollouts: Sequence[Rollout], right: Tensor) -> Values:
    """Metrics of turns and calls; empty without an environment that has turns.

    right: (N,), 1 if the rollout passes, 0 if not, NaN without a reward.
    """
    if not any(rollout.turns or rollout.failure for rollout in rollouts):
        return {}
    conversations = [part for rollout in rollouts for part in rollout.conversations]
    turns = [sum(len(part.turns) for part in rollout.conversations) for rollout in rollouts]
    calls = [call for part in conversations for turn in part.turns for call in turn.calls]
    masks = [part.action_mask for part in conversations]
    ends = Counter(rollout.finish_reason for rollout in rollouts)
    values: Values = {
        "rollout/turns_mean": sum(turns) / len(turns),
        "rollout/turns_max": float(max(turns)),
        "tools/calls_per_rollout": len(calls) / len(rollouts),
        "tools/invalid_share": _share(call.status in INVALID_CALLS for call in calls),
        "tools/failure_share": _share(
            call.status not in INVALID_CALLS | {"ok", "too_many"} for call in calls
        ),
        "tokens/policy_share": sum(map(sum, masks)) / max(1, sum(map(len, masks))),
    }
    values |= {f"finish/{reason}": count / len(rollouts) for reason, count in sorted(ends.items())}
    failures = Counter(rollout.failure for rollout in rollouts if rollout.failure is not None)
    values |= {
        f"rollout/failed/{status}": count / len(rollouts) for status, count in sorted(failures.items())
    }
    return values | _use(rollouts, right) | _by_tool(calls, len(rollouts))


def forks_share(rollouts: Sequence[Rollout]) -> float | None:
    return _share(rollout.branches > 1 for rollout in rollouts)


def _use(rollouts: Sequence[Rollout], right: Tensor) -> Values:
    """Share of rollouts that use a tool, and share of their prompts for which no such rollout passes."""
    uses = [_uses_tools(rollout) for rollout in rollouts]
    by_prompt: dict[int, list[bool]] = {}
    for rollout, used, passes in zip(rollouts, uses, right.tolist(), strict=True):
        if used and not math.isnan(passes):
            by_prompt.setdefault(rollout.prompt_no, []).append(passes == 1)
    return {
        "tools/use_share": _share(uses),
        "tools/all_wrong_share": _share(not any(passes) for passes in by_prompt.values()),
    }


def _uses_tools(rollout: Rollout) -> bool:
    calls = (call for part in rollout.conversations for turn in part.turns for call in turn.calls)
    return any(call.status not in INVALID_CALLS | {"too_many"} for call in calls)


def _by_tool(calls: Sequence[ToolCall], rollouts: int) -> Values:
    by_name: dict[str, list[ToolCall]] = {}
    for call in calls:
        # Names of tools that do not exist are the model's, without end.
        if call.status not in ("unknown_tool", "invalid_json", "too_many"):
            by_name.setdefault(call.name, []).append(call)
    values: Values = {}
    most_frequent = sorted(by_name, key=lambda name: (-len(by_name[name]), name))[:MOST_TOOLS]
    for name in sorted(most_frequent):
        times = torch.tensor([call.milliseconds for call in by_name[name]], dtype=torch.float64)
        values |= {
            f"tools/{name}/calls": len(by_name[name]) / rollouts,
            f"tools/{name}/failure_share": _share(call.status != "ok" for call in by_name[name]),
        }
        if times.any():  # a program's own tools are not timed
            values[f"tools/{name}/seconds_p95"] = float(times.quantile(0.95)) / 1000
    return values


def _share(flags: Iterable[bool]) -> float | None:
    listed = list(flags)
    return sum(listed) / len(listed) if listed else None
