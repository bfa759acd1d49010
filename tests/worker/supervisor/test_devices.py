"""GPUs of a job on several devices, taken when the job is prepared."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.supervised import Bench, wait_for
from worker.machine.gpu_assignment import JobGpus
from worker.machine.gpus import Gpu
from worker.settings import WorkerSettings
from worker.supervisor.supervisor import JobOutcome

TWO = [Gpu("0", "GPU-a"), Gpu("1", "GPU-b")]


@pytest.fixture
def gpus(tmp_path: Path) -> Iterator[JobGpus]:
    yield JobGpus(WorkerSettings(home=tmp_path / "locks"), lambda: TWO)


def spec(bench: Bench, devices: int) -> dict[str, object]:
    return bench.claimed("end").spec | {"devices_per_job": devices}


def test_a_job_waits_until_all_its_gpus_are_free(bench: Bench, gpus: JobGpus, tmp_path: Path) -> None:
    other = JobGpus(WorkerSettings(home=tmp_path / "locks"), lambda: TWO)
    with other.held("wrk_2") as foreign, gpus.held("wrk_1") as hold:
        assert foreign is not None and hold is not None
        claimed = bench.claimed("end", spec=spec(bench, 2))
        outcomes: list[JobOutcome] = []
        thread = threading.Thread(target=lambda: outcomes.append(bench.supervisor.run(claimed, hold)))
        thread.start()
        wait_for(lambda: not hold.locks)
        foreign.release()
        thread.join(30)
    assert outcomes == [JobOutcome.DELIVERED] and bench.end()["outcome"] == "succeeded"
    environment = json.loads((bench.folder / "environment.json").read_text())
    assert environment["CUDA_VISIBLE_DEVICES"] == "0,1"


def test_more_gpus_than_the_worker_has_pause_the_job_with_the_field(bench: Bench, gpus: JobGpus) -> None:
    with gpus.held("wrk_1") as hold:
        assert bench.supervisor.run(bench.claimed("end", spec=spec(bench, 3)), hold) is JobOutcome.DELIVERED
    end = bench.end()
    assert (end["outcome"], end["reason"]) == ("paused", "too_few_devices")
    assert "devices_per_job is 3, and this worker has 2 GPUs" in end["message"] and end["hint"]
    assert not (bench.folder / "pid").exists(), "no trainer was started"


def test_a_waiting_job_can_be_cancelled(bench: Bench, gpus: JobGpus, tmp_path: Path) -> None:
    other = JobGpus(WorkerSettings(home=tmp_path / "locks"), lambda: TWO)
    with other.held("wrk_2"), gpus.held("wrk_1") as hold:
        assert hold is not None
        claimed = bench.claimed("end", spec=spec(bench, 2))
        thread = threading.Thread(target=bench.supervisor.run, args=(claimed, hold))
        thread.start()
        wait_for(lambda: not hold.locks)
        bench.server.state.commands.append({"id": "cmd_1", "kind": "cancel"})
        thread.join(30)
    assert bench.end()["outcome"] == "cancelled"
