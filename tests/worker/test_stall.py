"""When a silent trainer counts as stalled, and what is said of it."""

from typing import Any

from reinforge.records import RECORD
from worker.stall import StallWatch


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def watched() -> tuple[StallWatch, Clock]:
    clock = Clock()
    return StallWatch(60, clock), clock


def record(**fields: Any) -> Any:
    return RECORD.validate_python({"sequence": 1, "ts": 0.0, **fields})


def said(watch: StallWatch) -> str:
    failure = watch.overdue()
    assert failure is not None and failure.code == "stalled"
    return failure.message


def test_every_record_is_a_sign_of_life() -> None:
    watch, clock = watched()
    clock.now += 59
    assert watch.overdue() is None
    watch.heard(record(kind="log", level="info", message="still here"))
    clock.now += 59
    assert watch.overdue() is None
    clock.now += 1
    assert said(watch) == "The trainer has said nothing for 60 s. It was starting."


def test_phase_and_prompts_are_named() -> None:
    watch, clock = watched()
    watch.heard(record(kind="phase", phase="generating", step=7, done=10, total=16, rows=[41, 52]))
    clock.now += 61
    assert said(watch).endswith(
        "It was generating at step 7; 10 of 16 prompts were done; it waited for rows 41, 52 of the dataset."
    )
    watch.heard(record(kind="phase", phase="updating", step=7))
    clock.now += 61
    assert said(watch).endswith("It was updating at step 7.")


def test_after_a_whole_step_it_is_between_steps() -> None:
    watch, clock = watched()
    watch.heard(record(kind="phase", phase="updating", step=7))
    watch.heard(record(kind="step_metrics", step=7, values={}))
    clock.now += 61
    assert said(watch).endswith("It was between steps, behind step 7.")
