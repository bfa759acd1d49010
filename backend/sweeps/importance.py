"""Importance of a sweep's parameters: the share of the objective's variance that lies between a parameter's
values, adjusted for their number (epsilon squared, Kelley 1935).
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from reinforge.schemas.sweeps import ParameterImportance, SweepTrial

METHOD = "variance between values"
FEWEST = 6
MOST_VALUES = 5
_PARTS = 3


def importance(
    varied: Sequence[str], trials: Sequence[SweepTrial]
) -> tuple[ParameterImportance | None, str | None]:
    measured = [trial for trial in trials if trial.objective is not None]
    if len(measured) < FEWEST:
        return None, f"This needs {FEWEST} jobs with a held-out reward; there are {len(measured)}."
    rewards = [trial.objective or 0.0 for trial in measured]
    if max(rewards) == min(rewards):
        return None, "All jobs have the same held-out reward."
    shares = {}
    for path in varied:
        values = [trial.seed if path == "seed" else trial.parameters.get(path) for trial in measured]
        share = explained(_groups(values), rewards)
        if share is not None:
            shares[path] = share
    if not shares:
        return None, "Every value has one job only: run several seeds, or vary further settings."
    ranked = dict(sorted(shares.items(), key=lambda item: -item[1]))
    return ParameterImportance(method=METHOD, shares=ranked, trials=len(measured)), None


def explained(groups: Sequence[int | str], rewards: Sequence[float]) -> float | None:
    """Adjusted share of the variance between groups, 0 to 1; None if undefined."""
    members: dict[int | str, list[float]] = defaultdict(list)
    for group, reward in zip(groups, rewards, strict=True):
        members[group].append(reward)
    count, number = len(rewards), len(members)
    if not 1 < number < count:
        return None
    mean = fmean(rewards)
    total = sum((reward - mean) ** 2 for reward in rewards)
    within = sum((reward - fmean(group)) ** 2 for group in members.values() for reward in group)
    if total == 0:
        return None
    return max(0.0, 1 - (within / (count - number)) / (total / (count - 1)))


def _groups(values: Sequence[Any]) -> list[int | str]:
    distinct = {json.dumps(value, sort_keys=True) for value in values}
    numbers = [value for value in values if isinstance(value, int | float)]
    if len(numbers) < len(values) or len(distinct) <= MOST_VALUES:
        return [json.dumps(value, sort_keys=True) for value in values]
    ordered = sorted(numbers)
    limits = [ordered[len(ordered) * part // _PARTS] for part in range(1, _PARTS)]
    return [sum(number >= limit for limit in limits) for number in numbers]
