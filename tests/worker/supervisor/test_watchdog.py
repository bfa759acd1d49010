"""When the watchdog ends a silent trainer, and its message."""

from typing import Any, get_args

import pytest

from reinforge.errors import InvalidInput
from reinforge.records import RECORD, Phase
from worker.supervisor.watchdog import SECONDS, PreparationWatchdog, SilenceLimits, Watchdog


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def watched() -> tuple[Watchdog, Clock]:
    clock = Clock()
    return Watchdog(SilenceLimits.parse("60"), clock), clock


def record(**fields: Any) -> Any:
    return RECORD.validate_python({"sequence": 1, "ts": 0.0, **fields})


def watchdog_message(watch: Watchdog) -> str:
    failure = watch.overdue()
    assert failure is not None and failure.code == "stalled"
    return failure.message


def test_every_record_is_a_sign_of_life() -> None:
    watch, clock = watched()
    clock.now += 59
    assert watch.overdue() is None
    watch.received(record(kind="log", level="info", message="still here"))
    clock.now += 59
    assert watch.overdue() is None
    clock.now += 1
    assert watchdog_message(watch) == "The trainer has reported nothing for 60 s. It was starting."


def test_phase_and_prompts_are_named() -> None:
    watch, clock = watched()
    watch.received(record(kind="phase", phase="generating", step=7, done=10, total=16, rows=[41, 52]))
    clock.now += 61
    assert watchdog_message(watch).endswith(
        "It was generating at step 7; 10 of 16 prompts were done; it waited for rows 41, 52 of the dataset."
    )
    watch.received(record(kind="phase", phase="updating", step=7))
    clock.now += 61
    assert watchdog_message(watch).endswith("It was updating at step 7.")


def test_after_a_whole_step_it_is_between_steps() -> None:
    watch, clock = watched()
    watch.received(record(kind="phase", phase="updating", step=7))
    watch.received(record(kind="step_metrics", step=7, values={}))
    clock.now += 61
    assert watchdog_message(watch).endswith("It was between steps, after step 7.")


def test_parts_of_the_engine_are_not_prompts() -> None:
    watch, clock = watched()
    watch.received(record(kind="phase", phase="starting_engine", step=0, done=2, total=5))
    clock.now += 61
    assert watchdog_message(watch).endswith("It was starting engine at step 0; 2 of 5 parts were done.")


def test_a_preparation_that_gets_nothing_is_overdue() -> None:
    clock = Clock()
    watch = PreparationWatchdog(SilenceLimits.parse("preparing=7"), clock)
    clock.now += 6
    watch.received()
    clock.now += 6
    assert watch.overdue() is None
    clock.now += 1
    failure = watch.overdue()
    assert failure is not None and failure.code == "stalled"
    assert failure.message == "No data arrived for 7 s while the model, dataset or resume state was fetched."
    assert failure.hint is not None and "REINFORGE_STALL_SECONDS=preparing=" in failure.hint


PHASES = get_args(Phase.model_fields["phase"].annotation)


@pytest.mark.parametrize("phase", PHASES)
def test_each_phase_has_a_bound_of_its_own(phase: str) -> None:
    clock = Clock()
    watch = Watchdog(SilenceLimits.parse(f"{phase}=7"), clock)
    others = [other for other in PHASES if other != phase]
    for other in others:
        watch.received(record(kind="phase", phase=other, step=1))
        clock.now += SECONDS[other] - 1
        assert watch.overdue() is None, other
    watch.received(record(kind="phase", phase=phase, step=1))
    clock.now += 6
    assert watch.overdue() is None
    clock.now += 1
    failure = watch.overdue()
    assert failure is not None and phase.replace("_", " ") in failure.message
    assert failure.hint is not None and f"REINFORGE_STALL_SECONDS={phase}=" in failure.hint


def test_the_setting_replaces_all_bounds_or_some() -> None:
    assert SilenceLimits.parse("").seconds == SECONDS
    assert set(SilenceLimits.parse("600").seconds.values()) == {600.0}
    both = SilenceLimits.parse(" 600 , loading = 3600,saving=5").seconds
    assert both == dict.fromkeys(SECONDS, 600.0) | {"loading": 3600.0, "saving": 5.0}


@pytest.mark.parametrize("text", ["soon", "0", "-1", "nan", "inf", "lunch=5", "saving=", "saving=a"])
def test_a_setting_that_cannot_be_read_is_refused_with_the_phases(text: str) -> None:
    with pytest.raises(InvalidInput, match="REINFORGE_STALL_SECONDS") as refused:
        SilenceLimits.parse(text)
    assert refused.value.hint is not None and "generating" in refused.value.hint
