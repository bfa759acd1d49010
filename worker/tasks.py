"""The one task: a wake-up. Claims decide what there is to do: whose turn it is, until nothing is queued."""

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from celery import shared_task, signals

from reinforge.errors import ReinforgeError
from reinforge.schemas.worker_door import Claimed
from worker.blob_cache import BlobCache
from worker.door import BackendAway, Door
from worker.jail_status import jail_status
from worker.models.sources import ModelStore
from worker.presence import Presence
from worker.settings import WorkerSettings
from worker.slots import Slot, end_leftover, take_slot
from worker.stall import StallBounds
from worker.supervisor import Supervisor
from worker.trainer_process import TRAINER

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 30.0
"""For a backend that is away; then the next wake-up counts, which may take 20 s more."""
trainer_command: Sequence[str] = TRAINER
"""What is started for a job."""


@dataclass
class TrainerWorker:
    """What a Celery process holds from start to end: its slot, its door, its announcements."""

    supervisor: Supervisor
    slot: Slot
    door: Door
    presence: Presence

    @classmethod
    def start(cls, settings: WorkerSettings) -> "TrainerWorker":
        slot = take_slot(settings.folder("workers"), "trainer", settings.hostname)
        if ended := end_leftover(slot):
            log.warning("ended what a former worker had left running: %s", ended)
        door = Door(settings.backend_url, settings.required_token())
        supervisor = Supervisor(
            door=door,
            slot=slot,
            runs=settings.folder("runs"),
            blobs=BlobCache(settings.folder("cache", "blobs"), door.get_blob),
            models=ModelStore(settings.folder("models")),
            sandbox=settings.sandbox,
            stop=threading.Event(),
            command=trainer_command,
            stall_bounds=StallBounds.parse(settings.stall_seconds),
        )
        presence = Presence(
            door, slot.worker_id, "trainer", settings.hostname, lambda: jail_status(settings.sandbox)
        )
        presence.start()
        return cls(supervisor, slot, door, presence)

    def wake(self, job: str) -> None:
        """Run queued jobs to their end, one after the other, for as long as there are any.

        The job that the wake-up names is not claimed by its name: others may have waited for longer (`backend.jobs`).
        """
        while not self.supervisor.stop.is_set():
            try:
                claimed = self._claim()
            except ReinforgeError as error:
                # The backend sends wake-ups again for as long as jobs are queued and we have nothing to do.
                log.warning("woken for %s, nothing claimed: %s", job, error.message)
                return
            if claimed is None:
                log.info("woken for %s: nothing is queued", job)
                return
            self.supervisor.run(claimed)

    def _claim(self) -> Claimed | None:
        """Waits a while for a backend that is away: mostly it is started again, and has just queued what it lost.

        Raises ReinforgeError.
        """
        deadline, pause = time.monotonic() + PATIENCE_SECONDS, 0.2
        while True:
            try:
                return self.supervisor.door.claim(self.slot.worker_id, None)
            except BackendAway:
                if time.monotonic() > deadline or self.supervisor.stop.wait(pause):
                    raise
                pause = min(2 * pause, 2.0)

    def shut_down(self) -> None:
        """Have a running trainer ended; the job's lease then runs out and another attempt continues."""
        self.supervisor.stop.set()

    def close(self) -> None:
        self.presence.stop()
        self.door.close()
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
