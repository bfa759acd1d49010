"""Findings beside the truth: what was recognised, what came first, how late, and what was a false alarm."""

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from zoo.constructed import WRITERS
from zoo.failures import ALL, Failure
from zoo.stored import StoredRun
from zoo.truth import onset

LATEST = 20
"""Steps after the onset within which a finding is in time."""
FAILURES: dict[str, Failure] = {failure.name: failure for failure in ALL}


@dataclass(frozen=True, slots=True)
class Alarm:
    """A finding that a person is shown: its code, and the step since which it holds."""

    code: str
    step: int
    reported: int
    """The step after which it can first be reported; at least `step`."""
    remedies: list[dict[str, Any]] = field(default_factory=list)
    """The best first."""


def onset_of(run: StoredRun) -> int | None:
    if run.kind == "constructed":
        return WRITERS[run.name][1]
    return onset(FAILURES[run.name].onset, run.train, run.accuracy)


def failing_row(run: StoredRun, alarms: Sequence[Alarm]) -> dict[str, Any]:
    """`alarms` with the most important first."""
    failure, start = FAILURES[run.name], onset_of(run)
    causes = [alarm for alarm in alarms if alarm.code in failure.codes]
    reported = min((alarm.reported for alarm in causes), default=None)
    return {
        "name": run.name,
        "seed": run.seed,
        "kind": run.kind,
        "cause": failure.cause,
        "codes": list(failure.codes),
        "onset": start,
        "steps": run.step,
        "outcome": run.outcome,
        "found": bool(causes),
        "right_first": bool(alarms) and alarms[0].code in failure.codes,
        "delay": None if reported is None or start is None else reported - start,
        "findings": [[alarm.code, alarm.step, alarm.reported] for alarm in alarms],
    }


def healthy_row(run: StoredRun, alarms: Sequence[Alarm]) -> dict[str, Any]:
    """hurt: the step from which on right sums show that the preset hurt the policy; its findings are not false."""
    points = run.accuracy.get("held_out")
    return {
        "name": run.name,
        "seed": run.seed,
        "kind": run.kind,
        "steps": run.step,
        "seconds": run.seconds,
        "accuracy": [points[0][1], points[-1][1]] if points else None,
        "hurt": onset("held_out_falls", run.train, run.accuracy) if points else None,
        "false_alarms": len(alarms),
        "findings": [[alarm.code, alarm.step, alarm.reported] for alarm in alarms],
    }


def totals(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Runs in which nothing went wrong, though something was meant to, are listed and not counted."""
    presets = [row for row in rows if row["kind"] == "healthy"]
    hurt = [row for row in presets if row["hurt"] is not None]
    healthy = [row for row in presets if row["hurt"] is None]
    meant = [row for row in rows if row["kind"] in ("failing", "constructed")]
    failing = [row for row in meant if row["onset"] is not None]
    recognised = [row for row in failing if row["found"]]
    delays = [row["delay"] for row in recognised]
    tried = [row for row in failing if row.get("healed") is not None]
    hours = sum(row["seconds"] for row in healthy) / 3600
    alarms = sum(row["false_alarms"] for row in healthy)
    return {
        "failing": len(failing),
        "found": len(recognised),
        "healthy": len(healthy),
        "false_alarms": alarms,
        "hurt_presets": sorted(row["name"] for row in hurt),
        "findings_of_hurt_presets": sum(row["false_alarms"] for row in hurt),
        "recall": _share(len(recognised), len(failing)),
        "right_first": _share(sum(row["right_first"] for row in failing), len(failing)),
        "in_time": _share(sum(delay <= LATEST for delay in delays), len(failing)),
        "delay_median": statistics.median(delays) if delays else None,
        "delay_largest": max(delays, default=None),
        "remedies_tried": len(tried),
        "healed": _share(sum(row["healed"] for row in tried), len(tried)),
        "without_remedy": sorted(
            {row["name"] for row in failing if "remedy" in row and row["remedy"] is None}
        ),
        "false_alarms_per_job_hour": round(alarms / hours, 2) if hours else None,
        "kinds": len({row["name"] for row in failing}),
        "constructed": sorted({row["name"] for row in meant if row["kind"] == "constructed"}),
        "did_not_fail": [f"{row['name']} {row['seed']}" for row in meant if row["onset"] is None],
        "confusion": confusion(failing),
    }


def confusion(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Failure → code that came first → runs; `nothing` where there was no finding."""
    table: dict[str, Counter[str]] = {}
    for row in rows:
        first = row["findings"][0][0] if row["findings"] else "nothing"
        table.setdefault(row["name"], Counter())[first] += 1
    return {name: dict(counts.most_common()) for name, counts in table.items()}


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 3) if whole else None
