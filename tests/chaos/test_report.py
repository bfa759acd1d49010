"""The record of a fault, and its definition of "nothing lost"."""

from typing import Any

import pytest

from tests.chaos import report
from tests.chaos.faults import Fault
from tests.chaos.inflict import Watched
from tests.chaos.run import Reference, _record
from tests.chaos.test_checks import WHOLE

PROMISED = {
    "fault", "role", "phase", "at_step", "recovered_s", "adapter_sha256", "expected_sha256", "series_holes",
    "series_doubles", "dead_points", "lost",
}  # fmt: skip
FAULT = Fault("kill", ("trainer",), after_seconds=2.0)


def record(**changes: Any) -> report.Record:
    watched = Watched("ftjob-1", "succeeded", fired_at=5.0, at_step=2, phase="scoring", recovered_s=3.25)
    made = _record(FAULT, watched, Reference(WHOLE, {"time/step"}, [], 20.0), WHOLE)
    return made | {"left_running": False} | changes


def test_a_record_says_what_was_promised() -> None:
    made = record()
    assert made.keys() >= PROMISED and report.broken(FAULT, OSError("gone")).keys() >= PROMISED
    promises = {name: made[name] for name in PROMISED}
    assert promises == {
        "fault": "kill trainer", "role": "trainer", "phase": "scoring", "at_step": 2, "recovered_s": 3.25,
        "adapter_sha256": "ab", "expected_sha256": "ab", "series_holes": 0, "series_doubles": 0, "dead_points": 0,
        "lost": 0,
    }  # fmt: skip
    assert report.passed(made)


@pytest.mark.parametrize(
    "change",
    [
        {"adapter_sha256": "cd"},
        {"adapter_sha256": None},
        {"series_holes": 1},
        {"series_doubles": 1},
        {"dead_points": 1},
        {"lost": 1},
        {"left_running": True},
        {"error": "RuntimeError: the suite could not go on"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_is_not_as_it_was_fails_and_is_counted(change: dict[str, Any]) -> None:
    bad = record(**change)
    assert not report.passed(bad)
    assert "FAILED" in report.line(1, bad)
    assert "| kill trainer, any time | 2 | 1 | 3.2 s |" in report.table([record(), bad])


def test_a_point_that_a_job_did_not_come_to_is_no_try() -> None:
    text = report.table([record(), record(fired=False, recovered_s=None)])
    assert "| **all** | **1** | **0** | |" in text and "1 faults were armed" in text
