"""Sends records to the backend, their blobs first, with retries."""

import logging
import random
import threading
import time
from pathlib import Path

from reinforge.errors import JobFailure, LeaseLost
from reinforge.records import CheckpointSaved, Record, ResumeStateSaved, Rollouts
from reinforge.schemas.worker_api import Claimed
from worker.backend_api.client import BackendAway, WorkerApi, WorkerApiRefused
from worker.backend_api.outbox import Outbox
from worker.supervisor.lease import Lease

log = logging.getLogger(__name__)

_FIRST_PAUSE_SECONDS = 0.2
_LONGEST_PAUSE_SECONDS = 5.0
_POLL_SECONDS = 0.2
_STORAGE = ("storage_full", "storage_unavailable")
STORAGE_PATIENCE_SECONDS = 300.0


class OutboxSender(threading.Thread):
    def __init__(
        self,
        api: WorkerApi,
        claimed: Claimed,
        lease: Lease,
        outbox: Outbox,
        blobs: Path,
        storage_patience_seconds: float = STORAGE_PATIENCE_SECONDS,
    ) -> None:
        super().__init__(name=f"sender-{claimed.job}", daemon=True)
        self._api, self._claimed, self._lease = api, claimed, lease
        self._outbox, self._blobs = outbox, blobs
        self._uploaded: set[str] = set()
        self._stopping = threading.Event()
        self.acknowledged = 0
        self.failure: JobFailure | None = None
        self._patience = storage_patience_seconds
        self._storage_lost_at: float | None = None

    def stop(self) -> None:
        self._stopping.set()

    def run(self) -> None:
        pause = _FIRST_PAUSE_SECONDS
        while not self._stopping.is_set() and self._lease.lost is None:
            if not self._outbox.wait(_POLL_SECONDS):
                continue
            try:
                self._send()
                pause, self._storage_lost_at = _FIRST_PAUSE_SECONDS, None
            except BackendAway as error:
                log.info("could not send records, will try again: %s", error.message)
                if self._out_of_patience(error):
                    self.failure = _storage_lost(error)
                    return
                self._stopping.wait(
                    pause * random.uniform(0.5, 1.0)
                )  # jitter, so that workers do not retry in step
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
            except LeaseLost as error:
                self._lease.lose(error.message)
            except (WorkerApiRefused, OSError) as error:
                log.error("%s: a record cannot be delivered: %s", self._claimed.job, error)
                self.failure = _refused(error)
                return
            except Exception as error:
                # Without this thread the job would run on unreported.
                log.exception("%s: a record cannot be delivered", self._claimed.job)
                self.failure = _broken(error)
                return

    def _out_of_patience(self, error: BackendAway) -> bool:
        """Whether the object store has failed for too long; an unreachable backend is retried forever."""
        if error.code not in _STORAGE:
            self._storage_lost_at = None
            return False
        self._storage_lost_at = self._storage_lost_at or time.monotonic()
        return time.monotonic() - self._storage_lost_at > self._patience

    def _send(self) -> None:
        records: list[Record] = []
        for record in self._outbox.peek():
            try:
                self._upload(record)
            except (BackendAway, WorkerApiRefused, OSError):
                if not records:
                    raise
                break  # retried with the next batch; earlier records need not wait
            records.append(record)
        if self._lease.lost is not None:
            return
        self.acknowledged = self._api.post_records(
            self._claimed.job, self._claimed.job_token, self._claimed.attempt, records
        )
        self._outbox.acknowledge(self.acknowledged)

    def _upload(self, record: Record) -> None:
        match record:
            case Rollouts(blob=blob):
                kind = "rollouts"
            case CheckpointSaved(blob=blob):
                kind = "checkpoint"
            case ResumeStateSaved(blob=blob):
                kind = "resume"
            case _:
                return
        if blob.sha256 in self._uploaded or self._lease.lost is not None:
            return
        path = self._blobs / blob.sha256
        self._api.put_blob(path, blob.sha256, kind, self._claimed.job_token)
        self._uploaded.add(blob.sha256)
        path.unlink(missing_ok=True)  # a long run would fill the disk with uploaded files


def _storage_lost(error: BackendAway) -> JobFailure:
    code = error.code or "storage_unavailable"
    message = f"The object store does not accept the trainer's results ({code}): {error.message}"
    hint = "Fix the object store (its disk may be full); then resume the job."
    return JobFailure(message[:2000], code=code, hint=hint, retryable=True)


def _refused(error: Exception) -> JobFailure:
    message = f"The backend refused the trainer's records: {error}"
    return JobFailure(
        message[:2000], code="record_refused", hint="Check that backend and worker have the same version."
    )


def _broken(error: Exception) -> JobFailure:
    message = f"The worker failed to deliver the trainer's records: {type(error).__name__}: {error}"
    return JobFailure(message[:2000], code="delivery_failed", hint="The worker's log has the details.")
