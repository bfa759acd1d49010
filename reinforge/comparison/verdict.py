"""The verdict on two jobs in one sentence."""

from reinforge.comparison.held_out import Difference

LONGER = 0.1


def sentence(
    name: str,
    baseline: str,
    difference: Difference | None,
    *,
    length: float | None = None,
    baseline_length: float | None = None,
    jobs: tuple[int, int] | None = None,
) -> str:
    if difference is None:
        return f"{name} cannot be compared with {baseline}: one of them has no scored held-out rows."
    change = difference.interval
    bounds = f"[{change.low:.2f}, {change.high:.2f}]"
    rows = f"{change.rows} held-out prompts" if difference.paired else "different held-out prompts"
    if jobs is not None:
        rows += f", {jobs[0]} against {jobs[1]} job{'' if jobs[1] == 1 else 's'}"
    if change.low > 0:
        verdict = f"{name} is better than {baseline} by {change.value:.2f} {bounds} on {rows}"
    elif change.high < 0:
        bounds = f"[{-change.high:.2f}, {-change.low:.2f}]"
        verdict = f"{name} is worse than {baseline} by {-change.value:.2f} {bounds} on {rows}"
    else:
        verdict = (
            f"No difference between {name} and {baseline} is shown: {change.value:+.2f} {bounds} on {rows}"
        )
    return f"{verdict}{_length(length, baseline_length)}."


def _length(length: float | None, baseline: float | None) -> str:
    if not length or not baseline or abs(length / baseline - 1) < LONGER:
        return ""
    relative = length / baseline - 1
    return f"; its completions are {abs(relative):.0%} {'longer' if relative > 0 else 'shorter'}"
