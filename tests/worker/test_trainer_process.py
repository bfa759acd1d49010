"""The trainer as a child: nothing of it stays open here, however it ended."""

import gc
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reinforge.records import Record
from tests.support.processes import open_pipes
from worker.launch import OOM_SCORE
from worker.slots import Slot, take_slot
from worker.trainer_process import TrainerProcess

WAITS = "import sys; sys.stdin.read()"


@pytest.fixture
def slot(tmp_path: Path) -> Iterator[Slot]:
    slot = take_slot(tmp_path / "workers", "trainer", "here")
    yield slot
    slot.release()


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def killed(trainer: TrainerProcess) -> None:
    trainer.close()


def ended_by_itself(trainer: TrainerProcess) -> None:
    assert trainer.wait(20) == 0
    trainer.close()


def told_to_end(trainer: TrainerProcess) -> None:
    trainer.end(grace=20)


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize(
    ("program", "end"), [("pass", ended_by_itself), (WAITS, killed), (WAITS, told_to_end)]
)
def test_no_pipe_to_it_stays_open(
    slot: Slot, tmp_path: Path, program: str, end: Callable[[TrainerProcess], None]
) -> None:
    """A worker of hundreds of jobs had hundreds of them."""
    before = open_pipes()
    seen: list[Record] = []
    command = (sys.executable, "-S", "-c", program)
    trainer = TrainerProcess(tmp_path, tmp_path / "log", slot, seen.append, command)
    assert len(open_pipes() - before) == 2, "records and commands"
    end(trainer)
    assert open_pipes() - before == set()


def test_where_memory_runs_out_the_trainer_is_ended_first(tmp_path: Path, slot: Slot) -> None:
    printing = "print(open('/proc/self/oom_score_adj').read(), flush=True)"
    log = tmp_path / "log"
    trainer = TrainerProcess(tmp_path, log, slot, lambda _: None, (sys.executable, "-c", printing))
    ended_by_itself(trainer)
    assert int(log.read_text()) >= OOM_SCORE
