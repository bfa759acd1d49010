"""Wake-ups while the backend is unreachable."""

import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reinforge.errors import ReinforgeError
from worker import tasks
from worker.backend_api.client import BackendAway, WorkerApiRefused
from worker.machine.gpu_assignment import JobGpus
from worker.machine.gpus import Gpu
from worker.settings import WorkerSettings
from worker.tasks import TrainerWorker


class Woken:
    """A worker whose claims are answered in turn; an exception is raised, everything else returned."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.ran = list(answers), list[Any]()
        self.stop = threading.Event()
        api = SimpleNamespace(claim=lambda _worker, _job: self._answer())
        supervisor = SimpleNamespace(stop=self.stop, api=api, run=lambda claimed, _: self.ran.append(claimed))
        self.gpus = JobGpus(WorkerSettings(), list)
        slot = SimpleNamespace(worker_id="wrk_1")
        stands: Callable[..., Any] = TrainerWorker
        self.worker = stands(supervisor, slot, api, SimpleNamespace(), SimpleNamespace(), self.gpus)

    def _answer(self) -> Any:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, ReinforgeError):
            raise answer
        return answer


def test_a_backend_that_is_started_again_is_waited_for() -> None:
    woken = Woken(BackendAway("gone"), BackendAway("gone"), "a job", None)
    woken.worker.wake("ftjob-1")
    assert woken.ran == ["a job"]


def test_the_wait_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "PATIENCE_SECONDS", 0.3)
    woken = Woken(BackendAway("gone"))
    woken.worker.wake("ftjob-1")
    assert woken.ran == []


def test_a_worker_that_goes_down_does_not_wait() -> None:
    woken = Woken(BackendAway("gone"))
    thread = threading.Thread(target=woken.worker.wake, args=("ftjob-1",))
    thread.start()
    woken.stop.set()
    thread.join(10)
    assert not thread.is_alive()
    assert woken.ran == []


def test_a_refused_request_is_not_retried() -> None:
    woken = Woken(WorkerApiRefused("no", status=401), "a job")
    woken.worker.wake("ftjob-1")
    assert woken.ran == []


def test_without_a_free_gpu_nothing_is_claimed(tmp_path: Path) -> None:
    settings = WorkerSettings(home=tmp_path)
    claimed = SimpleNamespace(job="ftjob-1")
    woken = Woken(claimed, None, claimed, None)
    woken.worker.gpus = JobGpus(settings, lambda: [Gpu("0", "GPU-a")])
    with JobGpus(settings, lambda: [Gpu("0", "GPU-a")]).held("wrk_2"):
        woken.worker.wake("a job")
        woken.worker._run_queued()
        assert woken.ran == [] and woken.worker.gpus.waits_for == "every GPU is taken (GPU 0: wrk_2)"
    woken.worker._run_queued()
    woken.worker.wake("a job")
    assert woken.ran == [claimed, claimed]
