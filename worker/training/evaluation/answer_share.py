"""Share of held-out completions that end in the declared answer."""

from collections.abc import Sequence
from statistics import fmean, stdev

from reinforge.evaluation.final_answer import is_right, reference
from worker.rollout.collect import Rollout


def answer_values(rollouts: Sequence[Rollout], column: str | None) -> dict[str, float | None]:
    """`held_out/answer_share` and its standard error; empty if less than half of the rows have a comparable answer."""
    if column is None:
        return {}
    rows: dict[int, list[bool]] = {}
    for rollout in rollouts:
        expected = reference(rollout.prompt.item.get(column))
        if expected is not None:
            rows.setdefault(rollout.prompt_no, []).append(is_right(rollout.text, expected))
    if 2 * len(rows) < len({rollout.prompt_no for rollout in rollouts}) or not rows:
        return {}
    shares = [fmean(right) for right in rows.values()]
    error = stdev(shares) / len(shares) ** 0.5 if len(shares) > 1 else None
    return {"held_out/answer_share": fmean(shares), "held_out/answer_std_error": error}
