"""The first remedy of a finding, tried: the same job from its base with the change, beside the job that failed."""

from collections.abc import Mapping
from typing import Any

from common.runs import Run

from zoo import truth
from zoo.diagnosis import alarms
from zoo.score import FAILURES, Alarm
from zoo.stored import StoredRun

MARGIN = 0.1
"""Of right sums on held-out rows: two standard errors of 48 rows."""


def with_change(spec: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """`settings` by dotted path."""
    changed = dict(spec)
    for path, value in settings.items():
        head, _, rest = path.partition(".")
        if rest and isinstance(changed.get(head), list):
            number, _, field = rest.partition(".")
            items = list(changed[head])
            items[int(number)] = with_change(items[int(number)], {field: value})
            changed[head] = items
        else:
            changed[head] = with_change(changed.get(head) or {}, {rest: value}) if rest else value
    return changed


def first_remedy(reported: list[Alarm]) -> dict[str, Any] | None:
    return next(iter(reported[0].remedies), None) if reported else None


def rerun(run: Run, reported: list[Alarm]) -> Run | None:
    """The job from its start with the first remedy's settings; None where there are none to change."""
    remedy = first_remedy(reported)
    if not remedy or not remedy["set"]:
        return None
    return Run(f"{run.name}-healed", run.seed, with_change(run.spec, remedy["set"]), read=truth.read)


def accuracy(run: StoredRun, step: int | None = None) -> float | None:
    """Right sums on held-out rows at the end, or at the last evaluation up to `step`."""
    points = [value for at, value in run.accuracy.get("held_out", []) if step is None or at <= step]
    return points[-1] if points else None


def outcome(
    run: StoredRun,
    job: Run,
    reported: list[Alarm],
    stored: Mapping[tuple[str, int], StoredRun],
    healthy: StoredRun,
) -> dict[str, Any]:
    """The first remedy, and right sums on held-out rows without it, with it, and of the healthy job at that step.

    `healed`: as many right sums as the healthy job, less `MARGIN`, and in the changed job no finding that names the
    cause. A checkpoint that is taken needs the right sums only. None where the remedy was not tried, or where there is
    none that one can press.
    """
    remedy = first_remedy(reported)
    goal = accuracy(healthy, run.step)
    row = {"remedy": remedy and remedy["label"], "before": accuracy(run), "after": None, "goal": goal}
    if remedy is None or goal is None:
        return row | {"healed": None}
    if remedy["kind"] == "stop_and_take":
        taken = accuracy(run, remedy["step"])
        return row | {"after": taken, "healed": taken is not None and taken >= goal - MARGIN}
    change = rerun(job, reported)
    after = next(
        (
            other
            for other in stored.values()
            if change and (other.seed, other.digest) == (run.seed, change.digest)
        ),
        None,
    )
    if after is None:
        return row | {"healed": None}
    right = accuracy(after)
    gone = not {alarm.code for alarm in alarms(after)} & set(FAILURES[run.name].codes)
    return row | {"after": right, "healed": right is not None and right >= goal - MARGIN and gone}
