"""Whether a mechanism could act at all: what the first training steps have of the thing that it works on.

The numbers that bounds read. Completions come from the run folder, so that an arm has to be run with one of the readers
below; metrics come from every stored run.
"""

from collections.abc import Sequence
from typing import Any

import torch
from common.folder import Folder
from common.runs import Result

from claims.ledger import Measure
from claims.measures import EDGE, first, relative_spread, taken
from worker.algorithm.shaping.rubric import rubric_reward, updated_alpha

UNIFORM_FIRST = first("groups/zero_variance_share", "groups without signal, first 5 steps")
WORKED_FIRST = taken("worked_first", "workings among completions (share), first 5 steps")
WRONG_SPREAD = taken("wrong_spread_first", "spread of wrong answers' lengths ÷ their mean, first 5 steps")
ENTROPY_SPREAD = taken(
    "entropy_spread", "spread of completions' entropies in a group ÷ their mean, first 5 steps"
)
TOKEN_SPREAD = taken(
    "token_spread", "spread of tokens' entropies in right completions ÷ their mean, first 5 steps"
)
BOTH_SIDES = taken("both_sides", "groups with two or more right and two or more wrong (share), first 5 steps")
GROUP_MEANS = taken("group_means", "deviation of groups' mean rewards, first 5 steps")
GROUP_SPREADS = taken("group_spreads", "spread of groups' deviations ÷ their mean, first 5 steps")
SHORT_RIGHT = taken(
    "short_right", "right among the shortest half of a group ÷ right among all, first 5 steps"
)
WRONG_SHARE = taken("wrong_share", "wrong completions (share), first 5 steps")
PUNISHED = taken("punished", "completions in the punished zone (share), steps 1 to 20")
FRONTIER = taken("frontier", "groups with 2 to 6 of 8 right (share), steps 1 to 40")
MIXED_STEPS = taken("mixed_steps", "completions with a right and a wrong step (share)")
SCALES = taken("scales", "deviation of the large reward ÷ that of the small one, first 5 steps")
MOVED = taken("moved", "mean change of the advantage by moved weights (deviations), first 10 steps")
CANDIDATES = taken("candidates", "completions with two or more different candidates (share), first 5 steps")


def _right_gain(result: Result) -> float:
    values = [value for _, value in result.held_out.points("held_out/pass@1")]
    return values[-1] - values[0]


def _entropy_left(result: Result) -> float:
    values = [value for _, value in result.train.points("entropy/mean")]
    return (sum(values[-3:]) / 3) / (sum(values[:3]) / 3)


ACCURACY_GAIN = Measure(
    "gain in held-out accuracy", _right_gain, lambda facts: float(facts["end"]) - float(facts["start"])
)
ENTROPY_LEFT = Measure(
    "entropy, last ÷ first 3 steps",
    _entropy_left,
    lambda facts: float(facts["entropy"][1]) / float(facts["entropy"][0]),
)


def _longest_first(result: Result) -> float:
    long, mean = (
        [value for _, value in result.train.points(f"completions/length_{name}")][:EDGE]
        for name in ("p90", "mean")
    )
    return sum(long) / sum(mean)


LONG_FIRST = Measure("length, 90th percentile ÷ mean, first 5 steps", _longest_first)


def by_group(folder: Folder) -> dict[str, Any]:
    """How completions of a group differ: entropies, rewards, and who is right among the short ones."""
    groups = [group for step in _first(folder) for group in _groups(folder.completions("train", step))]
    entropies = [[_mean(row["entropies"]) for row in group if row["entropies"]] for group in groups]
    rights = [[row["reward"] > 0.5 for row in group] for group in groups]
    means = [_mean(right) for right in rights]
    spreads = [spread for right in rights if (spread := _deviation(right)) > 0]
    shortest = [
        right
        for group in groups
        for right in [row["reward"] > 0.5 for row in sorted(group, key=lambda row: row["length"])][
            : len(group) // 2
        ]
    ]
    tokens = [
        value
        for group in groups
        for row in group
        if row["reward"] > 0.5 and row["entropies"]
        for value in row["entropies"]
    ]
    return {
        "entropy_spread": _mean([relative_spread(values) for values in entropies if values]),
        "token_spread": relative_spread(tokens),
        "both_sides": _mean([2 <= sum(right) <= len(right) - 2 for right in rights]),
        "group_means": _deviation(means),
        "group_spreads": relative_spread(spreads),
        "short_right": _mean(shortest) / _mean(means),
        "wrong_share": 1 - _mean(means),
    }


def beyond(tokens: int) -> Any:
    """A reader: the share of training completions longer than `tokens`."""

    def read(folder: Folder) -> dict[str, Any]:
        lengths = [
            row["length"]
            for step in folder.series("train").steps
            for row in folder.completions("train", step)
        ]
        return {"punished": _mean([length > tokens for length in lengths])}

    return read


def at_the_frontier(folder: Folder) -> dict[str, Any]:
    groups = [
        group for step in folder.series("train").steps for group in _groups(folder.completions("train", step))
    ]
    rights = [sum(row["reward"] > 0.5 for row in group) for group in groups]
    return {"frontier": _mean([2 <= right <= 6 for right in rights])}


def two_scales(folder: Folder) -> dict[str, Any]:
    """Deviations within groups, averaged."""
    groups = [group for step in _first(folder) for group in _groups(folder.completions("train", step))]
    large, small = (
        _mean([_deviation([row["rewards"][at]["value"] for row in group]) for group in groups])
        for at in (0, 1)
    )
    return {"scales": large / small}


def several_candidates(folder: Folder) -> dict[str, Any]:
    rows = [row for step in _first(folder) for row in folder.completions("train", step)]
    return {
        "candidates": _mean(
            [len({tuple(one) for one in row["rewards"][0]["candidates"]}) > 1 for row in rows]
        )
    }


def moved_advantages(folder: Folder) -> dict[str, Any]:
    """What POW3R's weights, moved once from 1 by its own rule, change in group-standardised advantages."""
    changes: list[float] = []
    for step in folder.series("train").steps[: 2 * EDGE]:
        for group in _groups(folder.completions("train", step)):
            named = [row["rewards"][0]["criteria"] for row in group]
            names = sorted({name for criteria in named for name in criteria})
            scores = torch.tensor(
                [[criteria.get(name, torch.nan) for name in names] for criteria in named], dtype=torch.float64
            )
            category, still = torch.zeros(len(names), dtype=torch.int64), torch.ones(len(names)).double()
            moving = updated_alpha(scores, category, still, blend=0.5, smoothing=0.5, low=0.25, high=4.0)
            before, after = (
                _standardised(rubric_reward(scores, weights, category)) for weights in (still, moving)
            )
            changes += (after - before).abs().tolist()
    return {"moved": _mean(changes)}


def _standardised(rewards: torch.Tensor) -> torch.Tensor:
    return (rewards - rewards.mean()) / (rewards.std() + 1e-4)


def _first(folder: Folder) -> Sequence[int]:
    return folder.series("train").steps[:EDGE]


def _groups(rows: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    groups: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["prompt_no"], []).append(row)
    return list(groups.values())


def _deviation(values: Sequence[float]) -> float:
    mean = _mean(values)
    return float(_mean([(value - mean) ** 2 for value in values]) ** 0.5)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
