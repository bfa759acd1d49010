"""Replays: a job's stored completions rescored with another revision of a reward."""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

MOST_FLIPS = 100
UNIFORM = 1e-6


@dataclass(frozen=True, slots=True)
class Rescored:
    step: int
    prompt_no: int
    sample_no: int
    old: float | None
    new: float | None
    status: str
    text: str
    wall_ms: float = 0.0
    cost: float | None = None


class Flip(BaseModel):
    """A completion that passes under only one revision."""

    model_config = ConfigDict(extra="forbid")

    step: int
    prompt_no: int
    sample_no: int
    old: float
    new: float
    text: str


class ReplayReport(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    completions: int
    compared: int
    """Number of completions with both rewards; all below but `errors`, `reward_ms`, `cost` is about them."""
    steps: list[int]
    old_mean: list[float]
    new_mean: list[float]
    rank_correlation: float | None
    """Spearman's ρ over completions, ties at their mean rank; None if one revision gives equal rewards."""
    same_order: float | None
    """Share of pairs of completions in a group, unequal under the old revision, that keep their order."""
    old_useful: float
    new_useful: float
    """Share of groups with different rewards under the new revision."""
    flips: int
    """Number of completions that pass under only one revision."""
    shown_flips: list[Flip]
    """The largest changes, at most 100."""
    errors: dict[str, int]
    """Error status under the new revision → number of completions."""
    reward_ms: float
    """Mean milliseconds per completion under the new revision."""
    cost: float | None = None
    """Cost in the judges' currency; None without priced judges."""


def compare(rows: Sequence[Rescored], *, pass_above: float) -> ReplayReport:
    both = [(row, row.old, row.new) for row in rows if row.old is not None and row.new is not None]
    by_step: dict[int, list[tuple[float, float]]] = defaultdict(list)
    by_group: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    for row, old, new in both:
        by_step[row.step].append((old, new))
        by_group[row.step, row.prompt_no].append((old, new))
    flips = [
        Flip(
            step=row.step,
            prompt_no=row.prompt_no,
            sample_no=row.sample_no,
            old=old,
            new=new,
            text=row.text[:400],
        )
        for row, old, new in both
        if (old > pass_above) != (new > pass_above)
    ]
    flips.sort(key=lambda flip: (-abs(flip.new - flip.old), flip.step, flip.prompt_no, flip.sample_no))
    steps = sorted(by_step)
    groups = list(by_group.values())
    costs = [row.cost for row in rows if row.cost is not None]
    errors = Counter(row.status for row in rows if row.new is None)
    return ReplayReport(
        completions=len(rows),
        compared=len(both),
        steps=steps,
        old_mean=[statistics.fmean(old for old, _ in by_step[step]) for step in steps],
        new_mean=[statistics.fmean(new for _, new in by_step[step]) for step in steps],
        rank_correlation=rank_correlation([old for _, old, _ in both], [new for _, _, new in both]),
        same_order=_same_order(groups),
        old_useful=_useful([[old for old, _ in group] for group in groups]),
        new_useful=_useful([[new for _, new in group] for group in groups]),
        flips=len(flips),
        shown_flips=flips[:MOST_FLIPS],
        errors=dict(errors.most_common()),
        reward_ms=statistics.fmean(row.wall_ms for row in rows) if rows else 0.0,
        cost=sum(costs) if costs else None,
    )


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's ρ: Pearson's correlation of mean ranks."""
    if len(first) < 2:
        return None
    one, two = mean_ranks(first), mean_ranks(second)
    middle = (len(first) + 1) / 2
    covariance = sum((a - middle) * (b - middle) for a, b in zip(one, two, strict=True))
    spread = math.sqrt(sum((a - middle) ** 2 for a in one) * sum((b - middle) ** 2 for b in two))
    return covariance / spread if spread else None


def mean_ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1; equal values share their mean rank."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        stop = start
        while stop < len(order) and values[order[stop]] == values[order[start]]:
            stop += 1
        for place in order[start:stop]:
            ranks[place] = (start + 1 + stop) / 2
        start = stop
    return ranks


def _same_order(groups: Sequence[Sequence[tuple[float, float]]]) -> float | None:
    agreeing = pairs = 0
    for group in groups:
        for index, (old, new) in enumerate(group):
            for other_old, other_new in group[index + 1 :]:
                if abs(old - other_old) > UNIFORM:
                    pairs += 1
                    agreeing += (new - other_new) * (old - other_old) > 0
    return agreeing / pairs if pairs else None


def _useful(groups: Sequence[Sequence[float]]) -> float:
    return sum(max(group) - min(group) > UNIFORM for group in groups) / max(1, len(groups))
