from collections.abc import Sequence
from statistics import fmean, stdev

from worker.rollout.collect import Rollout

Values = dict[str, float | None]


def reward_spreads(rollouts: Sequence[Rollout]) -> Values:
    """Standard deviations and error share of each reward; empty for a single reward, whose metrics are the
    total's. A reward that does not apply counts neither as an error nor as a value.
    """
    failed: dict[str, list[bool]] = {}
    groups: dict[str, dict[int, list[float]]] = {}
    for rollout in rollouts:
        for result in rollout.score.results if rollout.score else ():
            failed.setdefault(result.name, []).append(result.failed)
            group = groups.setdefault(result.name, {}).setdefault(rollout.prompt_no, [])
            if result.value is not None:
                group.append(result.value)
    values: Values = {}
    for name in sorted(groups) if len(groups) > 1 else ():
        scores = list(groups[name].values())
        inner = [stdev(group) for group in scores if len(group) > 1]
        pooled = [score for group in scores for score in group]
        values[f"reward/{name}/std"] = stdev(pooled) if len(pooled) > 1 else None
        values[f"reward/{name}/group_std"] = fmean(inner) if inner else None
        values[f"reward/{name}/error_share"] = fmean(failed[name])
    return values
