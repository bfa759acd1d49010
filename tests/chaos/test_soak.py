"""The soak: its definition of flat, and the victims of its faults."""

from itertools import islice
from random import Random
from typing import Any

import pytest

from tests.chaos.faults import Catalogue, Point
from tests.chaos.soak import ONE_IN, SPARED, Process, Sample, faults, growths, table

HOUR = [20.0 * number for number in range(180)]


def samples(**changes: Any) -> list[Sample]:
    """An hour of a platform; `changes`: value at a time, by name."""
    made = []
    for at in HOUR:

        def value(name: str, otherwise: float, at: float = at) -> Any:
            return changes.get(name, lambda _: otherwise)(at)

        made.append(
            Sample(
                at=at,
                processes=[
                    Process(
                        "api", 7, at, int(value("memory", 2e8)), value("descriptors", 40), value("threads", 9)
                    )
                ],
                tables={"job": int(value("table", 3e6)), "small": 8192},
                connections=value("connections", 12),
                files=value("files", 200),
                file_bytes=int(value("file_bytes", 5e7)),
            )
        )
    return made


def grown(**changes: Any) -> list[str]:
    return [growth.what for growth in growths(samples(**changes)) if not growth.flat]


def test_what_stays_is_flat() -> None:
    assert grown() == []
    text = table(growths(samples()))
    assert "| api: memory, MB | 200.0 | 200.0 | flat, 60 min old |" in text
    assert "| table job, MB |" in text and "table small" not in text


def test_what_fills_in_the_first_minutes_is_flat() -> None:
    assert grown(memory=lambda at: min(4e8, 1e8 + at * 1e6)) == []


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("memory", lambda at: 2e8 + at * 5e4, "api: memory, MB"),
        ("descriptors", lambda at: int(40 + at / 60), "api: descriptors"),
        ("threads", lambda at: int(9 + at / 200), "api: threads"),
        ("table", lambda at: 3e6 + at * 5e3, "table job, MB"),
        ("connections", lambda at: int(12 + at / 120), "database connections"),
        ("files", lambda at: int(200 + at / 10), "files"),
        ("file_bytes", lambda at: 5e7 + at * 5e4, "files, MB"),
    ],
)
def test_what_grows_is_named(name: str, value: Any, what: str) -> None:
    assert grown(**{name: value}) == [what]


def test_a_descriptor_a_minute_is_detected_within_twenty() -> None:
    """So a worker kept the pipes of its trainers."""
    made = growths(samples(descriptors=lambda at: int(12 + at / 60))[: 20 * 3])
    assert [growth.what for growth in made if not growth.flat] == ["api: descriptors"]


def test_a_restarted_process_is_judged_by_its_longest_life() -> None:
    made = samples()
    young = [Process("api", 8, 60.0, int(9e8), 999, 99)]
    made[100] = Sample(made[100].at, young, made[100].tables, 12, 200, int(5e7))
    assert all(growth.flat for growth in growths(made))


def test_at_first_faults_leave_the_platform_alone() -> None:
    points: list[Point] = [
        {"role": role, "kind": kind, "label": label, "when": "after", "count": count}
        for role, kind, label in (("trainer", "pipe", "step_metrics"), ("api", "commit", "job"))
        for count in range(1, 7)
    ]
    begun = 0
    drawn = []
    for fault in islice(faults(Catalogue(points, 10.0), Random(3), lambda: begun < 30), 30 + 10 * ONE_IN):
        drawn.append(fault)
        begun = len(drawn)
    hard = [number for number, fault in enumerate(drawn, 1) if not SPARED.isdisjoint(fault.victims)]
    assert hard == [30 + ONE_IN * turn for turn in range(1, 11)]
