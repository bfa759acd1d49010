"""Each kind of difference from an undisturbed job is detected and named."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from tests.chaos.checks import Remains, compare, volatile_keys

ROW = (0, "hash", 1.0, 0.5, 9, "stop", None, "12")
WHOLE = Remains(
    status="succeeded",
    adapter_sha256="ab",
    points={("train", "loss", 1): 0.5, ("train", "time/step", 1): 2.0, ("train", "loss", 2): 0.25},
    completions={("train", 1, 0, 0): ROW, ("train", 2, 0, 0): ROW},
    checkpoints={2: "cd"},
    events=Counter({("metrics", "train", 1): 1, ("metrics", "train", 2): 1}),
    strangers=0,
    unsent=0,
    damaged=0,
    attempts=[(1, 0, "succeeded")],
)
VOLATILE = {"time/step"}


def test_a_job_without_a_difference_is_clean() -> None:
    timed = {**WHOLE.points, ("train", "time/step", 1): 9.0}
    assert compare(WHOLE, replace(WHOLE, points=timed), VOLATILE).clean


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"points": {**WHOLE.points, ("train", "loss", 3): 0.1}}, "series_doubles"),
        ({"points": dict(list(WHOLE.points.items())[:2])}, "series_holes"),
        ({"points": {**WHOLE.points, ("train", "loss", 1): 0.7}}, "dead_points"),
        ({"completions": {**WHOLE.completions, ("train", 9, 0, 0): ROW}}, "dead_points"),
        ({"completions": {**WHOLE.completions, ("train", 1, 0, 0): (*ROW[:-1], "13")}}, "dead_points"),
        ({"completions": {("train", 1, 0, 0): ROW}}, "lost"),
        ({"checkpoints": {}}, "lost"),
        ({"checkpoints": {2: "ef"}}, "lost"),
        ({"events": Counter({("metrics", "train", 1): 2, ("metrics", "train", 2): 1})}, "series_doubles"),
        ({"events": Counter({("metrics", "train", 1): 1})}, "lost"),
        ({"strangers": 3}, "dead_points"),
        ({"unsent": 1}, "lost"),
        ({"damaged": 1}, "lost"),
        ({"status": "failed"}, "lost"),
    ],
)
def test_a_difference_counts_where_it_belongs(change: dict[str, Any], field: str) -> None:
    difference = compare(WHOLE, replace(WHOLE, **change), VOLATILE)
    counts = {
        name: getattr(difference, name) for name in ("series_holes", "series_doubles", "dead_points", "lost")
    }
    assert {name for name, count in counts.items() if count} == {field}
    assert not difference.clean


def test_metrics_that_differ_between_undisturbed_jobs_tell_time() -> None:
    slower = {**WHOLE.points, ("train", "time/step", 1): 3.0}
    assert volatile_keys(WHOLE, replace(WHOLE, points=slower)) == VOLATILE
