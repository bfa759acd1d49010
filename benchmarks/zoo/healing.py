"""The first remedy of a finding, tried: the same job with its change, beside the job that failed."""

from collections.abc import Mapping
from typing import Any

from common.runs import Run

from zoo import truth
from zoo.diagnosis import alarms
from zoo.score import FAILURES, Alarm
from zoo.stored import StoredRun

GAIN = 0.1
"""Of right sums on held-out rows, where the failing job lost more than that."""


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


def is_healed(
    run: StoredRun, job: Run, reported: list[Alarm], stored: Mapping[tuple[str, int], StoredRun]
) -> bool | None:
    """Whether the first remedy helps: lost right sums are back by `GAIN` (or, where none were lost, the change
    loses none) and, in the changed job, the cause is not reported again. None where it was not tried, or where there
    is none that one can press."""
    remedy = first_remedy(reported)
    if remedy is None:
        return None
    base, end = accuracy(run, 0), accuracy(run)
    lost = base is not None and end is not None and base - end > GAIN
    if remedy["kind"] == "stop_and_take":
        taken = accuracy(run, remedy["step"])
        return taken is not None and end is not None and taken >= end + GAIN if lost else None
    change = rerun(job, reported)
    after = stored.get((change.name, change.seed)) if change else None
    if change is None or after is None or after.digest != change.digest:
        return None
    healed = accuracy(after)
    if end is not None and (healed is None or healed < end + (GAIN if lost else -GAIN)):
        return False
    return not {alarm.code for alarm in alarms(after)} & set(FAILURES[run.name].codes)
