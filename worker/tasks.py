"""The trainer's worker, and its Celery task `wake`, which claims and runs jobs until none is queued."""

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from celery import shared_task, signals

from reinforge.errors import ReinforgeError
from reinforge.net.broker import IDLE_POLL_SECONDS, look
from reinforge.schemas.worker_api import Claimed
from worker.backend_api.blob_cache import BlobCache
from worker.backend_api.cache_cleanup import Tidying
from worker.backend_api.client import BackendAway, WorkerApi
from worker.backend_api.presence import Presence
from worker.machine.gpu_assignment import JobGpus
from worker.models.sources import model_store
from worker.rewards.jail_status import jail_status
from worker.serving_client.engine_choice import job_engines
from worker.settings import WorkerSettings
from worker.supervisor.slots import WorkerSlot, end_leftover, take_slot
from worker.supervisor.supervisor import JobSupervisor
from worker.supervisor.trainer_process import TRAINER
from worker.supervisor.watchdog import SilenceLimits

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 30.0
POLL_SECONDS = IDLE_POLL_SECONDS
CLOSE_SECONDS = 15.0
trainer_command: Sequence[str] = TRAINER


@dataclass
class TrainerWorker:
    supervisor: JobSupervisor
    slot: WorkerSlot
    api: WorkerApi
    presence: Presence
    tidying: Tidying
    gpus: JobGpus
    _working: threading.Lock = field(default_factory=threading.Lock, init=False)
    _poller: threading.Thread | None = field(default=None, init=False)

    @classmethod
    def start(cls, settings: WorkerSettings) -> "TrainerWorker":
        slot = take_slot(settings.folder("workers"), "trainer", settings.hostname)
        if ended := end_leftover(slot):
            log.warning("killed processes that this slot's former worker had left running: %s", ended)
        api = WorkerApi(settings.backend_url, settings.required_token())
        supervisor = JobSupervisor(
            api=api,
            slot=slot,
            runs=settings.folder("runs"),
            blobs=BlobCache(settings.folder("cache", "blobs"), api.get_blob),
            models=model_store(settings),
            sandbox=settings.sandbox,
            stop=threading.Event(),
            command=trainer_command,
            silence_limits=SilenceLimits.parse(settings.stall_seconds),
        )
        gpus = JobGpus(settings)
        presence = Presence(
            api,
            slot.worker_id,
            "trainer",
            settings.hostname,
            lambda: jail_status(settings.sandbox),
            broker=lambda: look(settings.redis_url, settings.folder("broker")),
            device=gpus.device,
            engines=job_engines(),
            waits_for=lambda: gpus.waits_for,
        )
        presence.start()
        tidying = Tidying(api, supervisor.blobs, runs=supervisor.runs)
        tidying.start()
        worker = cls(supervisor, slot, api, presence, tidying, gpus)
        worker.start_polling()
        return worker

    def wake(self, job: str) -> None:
        with self._working:
            while not self.supervisor.stop.is_set():
                with self.gpus.held(self.slot.worker_id, urgent=True) as hold:
                    if hold is None:
                        log.info("woken for %s, nothing claimed: %s", job, self.gpus.waits_for)
                        return
                    try:
                        claimed = self._claim()
                    except ReinforgeError as error:
                        # The backend sends wake-ups again for as long as jobs are queued and we have nothing to do.
                        log.warning("woken for %s, nothing claimed: %s", job, error.message)
                        return
                    if claimed is None:
                        log.info("woken for %s: nothing is queued", job)
                        return
                    self.supervisor.run(claimed, hold)

    def start_polling(self) -> None:
        """Poll for jobs in a thread that lives as long as the process: the kernel ends a trainer with the
        thread that started it.
        """
        self._poller = threading.Thread(target=self._poll, name="poller", daemon=True)
        self._poller.start()

    def _poll(self) -> None:
        while not self.supervisor.stop.wait(POLL_SECONDS):
            if not self._working.acquire(blocking=False):
                continue
            try:
                self._run_queued()
            except ReinforgeError as error:
                log.debug("could not claim a job: %s", error.message)
            except Exception:
                log.exception("could not poll for jobs")  # and is tried again: the worker counts as online
            finally:
                self._working.release()

    def _run_queued(self) -> None:
        claim = self.supervisor.api.claim
        while not self.supervisor.stop.is_set():
            with self.gpus.held(self.slot.worker_id) as hold:
                claimed = None if hold is None else claim(self.slot.worker_id, None)
                if claimed is None:
                    return
                log.info("%s was claimed without a wake-up", claimed.job)
                self.supervisor.run(claimed, hold)

    def _claim(self) -> Claimed | None:
        deadline, pause = time.monotonic() + PATIENCE_SECONDS, 0.2
        while True:
            try:
                return self.supervisor.api.claim(self.slot.worker_id, None)
            except BackendAway:
                if time.monotonic() > deadline or self.supervisor.stop.wait(pause):
                    raise
                pause = min(2 * pause, 2.0)

    def shut_down(self) -> None:
        """End a running trainer; another attempt continues its job after the lease expires."""
        self.supervisor.stop.set()

    def close(self) -> None:
        self.shut_down()
        if self._poller is not None:
            self._poller.join(CLOSE_SECONDS)
        self.presence.stop()
        self.tidying.stop()
        self.tidying.join(CLOSE_SECONDS)
        self.api.close()
        self.slot.release()


_worker: TrainerWorker | None = None


def _wake(job_id: str) -> None:
    if _worker is None:
        raise RuntimeError("start the worker with `python -m worker`: it runs tasks in its own process")
    _worker.wake(job_id)


wake: Any = shared_task(_wake, name="worker.tasks.wake", ignore_result=True)


def _start(**_: Any) -> None:
    global _worker
    _worker = TrainerWorker.start(WorkerSettings())


def _shut_down(**_: Any) -> None:
    if _worker is not None:
        _worker.shut_down()


def _close(**_: Any) -> None:
    if _worker is not None:
        _worker.close()


signals.worker_init.connect(_start)
signals.worker_shutting_down.connect(_shut_down)
signals.worker_shutdown.connect(_close)
