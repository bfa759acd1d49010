"""The trainer as a child: nothing of it stays open here, however it ended."""

import gc
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reinforge.records import Record
from reinforge.system.launch import TRAINING_OOM_SCORE
from tests.support.processes import eventually, open_pipes
from worker.machine.gpu_assignment import GpuLocks, Pools
from worker.machine.gpus import Gpu
from worker.supervisor.slots import WorkerSlot, take_slot
from worker.supervisor.trainer_process import TrainerProcess

WAITS = "import sys; sys.stdin.read()"


@pytest.fixture
def slot(tmp_path: Path) -> Iterator[WorkerSlot]:
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


def ended_on_request(trainer: TrainerProcess) -> None:
    trainer.end(grace=20)


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize(
    ("program", "end"), [("pass", ended_by_itself), (WAITS, killed), (WAITS, ended_on_request)]
)
def test_no_pipe_to_it_stays_open(
    slot: WorkerSlot, tmp_path: Path, program: str, end: Callable[[TrainerProcess], None]
) -> None:
    """A worker of hundreds of jobs had hundreds of them."""
    before = open_pipes()
    records: list[Record] = []
    command = (sys.executable, "-S", "-c", program)
    trainer = TrainerProcess(tmp_path, tmp_path / "log", slot, records.append, command)
    assert len(open_pipes() - before) == 2, "records and commands"
    end(trainer)
    assert open_pipes() - before == set()


def test_where_memory_runs_out_the_trainer_is_ended_first(tmp_path: Path, slot: WorkerSlot) -> None:
    printing = "print(open('/proc/self/oom_score_adj').read(), flush=True)"
    log = tmp_path / "log"
    trainer = TrainerProcess(tmp_path, log, slot, lambda _: None, (sys.executable, "-c", printing))
    ended_by_itself(trainer)
    assert int(log.read_text()) >= TRAINING_OOM_SCORE


def test_it_sees_its_own_gpu_alone_and_keeps_the_lock_for_as_long_as_it_lives(
    tmp_path: Path, slot: WorkerSlot
) -> None:
    locks, pool = GpuLocks(tmp_path / "gpus"), Pools((Gpu("3", "GPU-d"),))
    hold = locks.take(pool, "this job")
    assert hold is not None
    log = tmp_path / "log"
    program = "import os, sys; print(os.environ['CUDA_VISIBLE_DEVICES'], flush=True); sys.stdin.read()"
    command = (sys.executable, "-S", "-c", program)
    trainer = TrainerProcess(tmp_path, log, slot, lambda _: None, command, gpus=hold)
    hold.release()  # the worker's own part, as when it is killed
    eventually(lambda: log.read_text() == "3\n")
    assert locks.take(pool, "another job") is None
    killed(trainer)
    assert locks.take(pool, "another job") is not None
