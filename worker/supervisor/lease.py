"""Lease of a job, and the thread that renews it by heartbeats."""

import logging
import threading
import time
from collections.abc import Callable

from reinforge.errors import LeaseLost
from reinforge.records import Command
from reinforge.schemas.worker_api import HEARTBEAT_SECONDS, Claimed, Heartbeat
from worker.backend_api.client import BackendAway, WorkerApi, WorkerApiRefused

log = logging.getLogger(__name__)

MAX_REFUSED = 3


def _now() -> float:
    # Unlike `time.monotonic`, runs while the machine sleeps, like the backend's clock.
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Lease:
    def __init__(self, seconds: float) -> None:
        self._deadline = _now() + seconds
        self._lost: str | None = None

    def renew(self, sent_at: float, seconds: float) -> None:
        """Renew the lease from when the heartbeat was sent, so that it never outlasts the backend's."""
        self._deadline = max(self._deadline, sent_at + seconds)

    def lose(self, why: str) -> None:
        self._lost = self._lost or why

    @property
    def lost(self) -> str | None:
        if self._lost is None and _now() > self._deadline:
            self._lost = "no heartbeat was answered in time"
        return self._lost


class HeartbeatThread(threading.Thread):
    """Thread that renews a lease and passes each command to `on_command` until this returns True."""

    def __init__(
        self,
        api: WorkerApi,
        claimed: Claimed,
        lease: Lease,
        on_command: Callable[[Command], bool],
        *,
        every: float = HEARTBEAT_SECONDS,
    ) -> None:
        super().__init__(name=f"heart-{claimed.job}", daemon=True)
        self._api, self._claimed, self._lease = api, claimed, lease
        self._on_command = on_command
        self._every = every
        self._applied: list[str] = []
        self._refused = 0
        self._stopping = threading.Event()

    def stop(self) -> None:
        self._stopping.set()

    def run(self) -> None:
        while self._lease.lost is None:
            self.send_heartbeat()
            if self._stopping.wait(self._every):
                return

    def send_heartbeat(self) -> None:
        body = Heartbeat(attempt=self._claimed.attempt, applied_commands=list(self._applied))
        sent_at = _now()
        try:
            reply = self._api.heartbeat(self._claimed.job, self._claimed.job_token, body)
        except LeaseLost as error:
            self._lease.lose(error.message)
            return
        except WorkerApiRefused as error:
            self._refused += 1
            log.warning("heartbeat %s of %s refused: %s", self._refused, MAX_REFUSED, error.message)
            if self._refused >= MAX_REFUSED:
                self._lease.lose(f"{MAX_REFUSED} heartbeats were refused: {error.message}")
            return
        except BackendAway as error:
            log.info("heartbeat not answered: %s", error.message)
            return
        self._refused = 0
        self._lease.renew(sent_at, reply.lease_seconds)
        for command in reply.commands:
            if command.id not in self._applied and self._on_command(command):
                self._applied.append(command.id)
