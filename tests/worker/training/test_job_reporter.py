"""Phases in the job reporter: throttled progress, keep-alive, and the rows that a hung trainer waits for."""

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from reinforge.records import BaseRecord, Phase
from tests.support.small_jobs import SmallJob, share_of_low_letters, small_spec
from tests.support.tiny_models import write_tiny_model
from worker.sandbox.outcome import RewardRow
from worker.trainer.reporter import LocalReporter
from worker.training.reporting.job_reporter import KEEP_ALIVE_SECONDS, PHASE_SECONDS, JobReporter


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def job_reporter(folder: Path) -> tuple[JobReporter, Clock, list[Phase]]:
    records: list[Phase] = []

    def show(record: BaseRecord) -> None:
        if isinstance(record, Phase):
            records.append(record)

    clock = Clock()
    reporter = LocalReporter(folder, show=show)
    return JobReporter(reporter, lambda _: [], model="m", revisions=dict, clock=clock), clock, records


def test_progress_is_reported_twice_a_second_at_most(tmp_path: Path) -> None:
    made, clock, records = job_reporter(tmp_path)
    for done in range(3):
        made.phase("scoring", 1, done, 3)
        clock.now += PHASE_SECONDS * 0.6
    assert [record.done for record in records] == [0, 2]
    made.phase("updating", 1)
    assert records[-1].phase == "updating", "a new one at once"


def test_a_phase_that_continues_repeats_its_last_report(tmp_path: Path) -> None:
    made, clock, records = job_reporter(tmp_path)
    made.heartbeat()
    assert records == [], "there is none yet"
    made.phase("generating", 4, 1, 3, [17])
    clock.now += KEEP_ALIVE_SECONDS - 0.1
    made.heartbeat()
    assert len(records) == 1
    clock.now += 0.1
    made.heartbeat()
    made.heartbeat()
    assert len(records) == 2
    assert records[1].model_dump(exclude={"sequence", "ts"}) == records[0].model_dump(
        exclude={"sequence", "ts"}
    )


def test_throttled_progress_is_reported_later(tmp_path: Path) -> None:
    """Else a job that hangs at its last row would name those that were done long ago."""
    made, _, records = job_reporter(tmp_path)

    async def score(then: str | None) -> None:
        made.phase("scoring", 1, 0, 3, [4, 5, 6])
        made.phase("scoring", 1, 1, 3, [5, 6])
        made.phase("scoring", 1, 2, 3, [6])
        if then is not None:
            made.phase("updating", 1)
        await asyncio.sleep(PHASE_SECONDS * 2)

    asyncio.run(score(None))
    assert [(record.done, record.rows) for record in records] == [(0, [4, 5, 6]), (2, [6])]
    made.phase("updating", 1)
    del records[:]
    asyncio.run(score("updating"))
    assert [record.phase for record in records] == ["scoring", "updating"], (
        "of a phase that is over nothing is told"
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("qwen3"))


LAST_ROWS = (6, 18)
"""Last row of the first evaluation (3 rows, 2 samples each) and of the step (3 prompts, 4 completions each)."""


class Hung:
    """What a job had said last when it came to a place, and some time after that."""

    def __init__(self, folder: Path, model: Path, **limits: Any) -> None:
        self._looking = threading.Lock()
        self._graded = 0
        self.phases: dict[tuple[str, int], Phase] = {}
        self.job = SmallJob(folder, model, small_spec(limits__steps=1, **limits), grade=self.grade)
        generate = self.job.engine.generate

        def generating(requests: Any) -> Any:
            self.look()
            return generate(requests)

        self.job.engine.generate = generating  # type: ignore[method-assign]

    def look(self) -> None:
        last: Any = self.job.records("phase")[-1]
        self.phases.setdefault((last.phase, last.done), last)

    def grade(self, row: RewardRow) -> float:
        """Each row waits until everything is sampled and that could be told; one row after the other is scored."""
        with self._looking:
            self._graded += 1
            time.sleep(PHASE_SECONDS / 2)
            self.look()
            if self._graded in LAST_ROWS:  # two prompts are done at least, whatever the order of rows
                deadline = time.monotonic() + 20
                while not self.job.records("phase")[-1].done and time.monotonic() < deadline:
                    time.sleep(0.05)
                self.look()
        return share_of_low_letters(row)


def test_a_hung_trainer_has_named_the_prompts_that_it_waits_for(tmp_path: Path, model: Path) -> None:
    hung = Hung(tmp_path, model)
    assert hung.job.train().outcome == "succeeded"
    rows = {
        (record.split, record.step): list(dict.fromkeys(row.row_index for row in record.rows))
        for record in hung.job.records("rollouts")
    }
    for phase, split, step in (
        ("generating", "train", 1),
        ("scoring", "train", 1),
        ("evaluating", "held_out", 0),
    ):
        first = hung.phases[phase, 0]
        assert (first.total, first.rows) == (3, rows[split, step]), phase
    for split, phase in (("train", "scoring"), ("held_out", "evaluating")):
        later = [record for (name, done), record in hung.phases.items() if name == phase and done]
        assert later, "progress was told while rows were scored"
        for record in later:
            waiting = rows[split, record.step]
            assert len(record.rows) == 3 - record.done and set(record.rows) < set(waiting), phase
