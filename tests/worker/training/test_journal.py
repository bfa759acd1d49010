"""Phases: progress is told now and then, and that a phase goes on."""

from pathlib import Path

from reinforge.records import BaseRecord, Phase
from worker.reporter import LocalReporter
from worker.training.journal import BEAT_SECONDS, PHASE_SECONDS, Journal


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def journal(folder: Path) -> tuple[Journal, Clock, list[Phase]]:
    told: list[Phase] = []

    def show(record: BaseRecord) -> None:
        if isinstance(record, Phase):
            told.append(record)

    clock = Clock()
    reporter = LocalReporter(folder, show=show)
    return Journal(reporter, lambda _: [], model="m", revisions=dict, clock=clock), clock, told


def test_progress_is_told_twice_a_second_at_most(tmp_path: Path) -> None:
    made, clock, told = journal(tmp_path)
    for done in range(3):
        made.phase("scoring", 1, done, 3)
        clock.now += PHASE_SECONDS * 0.6
    assert [each.done for each in told] == [0, 2]
    made.phase("updating", 1)
    assert told[-1].phase == "updating", "a new one at once"


def test_a_phase_that_goes_on_says_so_with_what_it_said_last(tmp_path: Path) -> None:
    made, clock, told = journal(tmp_path)
    made.beat()
    assert told == [], "there is none yet"
    made.phase("generating", 4, 1, 3, [17])
    clock.now += BEAT_SECONDS - 0.1
    made.beat()
    assert len(told) == 1
    clock.now += 0.1
    made.beat()
    made.beat()
    assert len(told) == 2
    assert told[1].model_dump(exclude={"sequence", "ts"}) == told[0].model_dump(exclude={"sequence", "ts"})
