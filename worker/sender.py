"""Takes records out of the outbox to the backend, their blobs first, for as long as it takes."""

import logging
import random
import threading
from pathlib import Path

from reinforge.errors import LeaseLost
from reinforge.records import CheckpointSaved, Record, ResumeStateSaved, Rollouts
from reinforge.schemas.worker_door import Claimed
from worker.door import BackendAway, Door, DoorRefused
from worker.lease import Lease
from worker.outbox import Outbox

log = logging.getLogger(__name__)

_FIRST_PAUSE_SECONDS = 0.2
_LONGEST_PAUSE_SECONDS = 5.0
_POLL_SECONDS = 0.2


class Sender(threading.Thread):
    """Runs until stopped, or until the lease is lost, or until the backend refuses a record (`refusal`)."""

    def __init__(self, door: Door, claimed: Claimed, lease: Lease, outbox: Outbox, blobs: Path) -> None:
        super().__init__(name=f"sender-{claimed.job}", daemon=True)
        self._door, self._claimed, self._lease = door, claimed, lease
        self._outbox, self._blobs = outbox, blobs
        self._uploaded: set[str] = set()
        self._stopping = threading.Event()
        self.acknowledged = 0
        """Highest sequence that the backend has."""
        self.refusal: str | None = None
        """Why the backend will not take the oldest record; nothing more is sent then."""

    def stop(self) -> None:
        self._stopping.set()

    def run(self) -> None:
        pause = _FIRST_PAUSE_SECONDS
        while not self._stopping.is_set() and self._lease.lost is None:
            if not self._outbox.wait(_POLL_SECONDS):
                continue
            try:
                self._send()
                pause = _FIRST_PAUSE_SECONDS
            except BackendAway as error:
                log.info("records wait: %s", error.message)
                self._stopping.wait(pause * random.uniform(0.5, 1.0))  # workers should not come back in step
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
            except LeaseLost as error:
                self._lease.lose(error.message)
            except (DoorRefused, OSError) as error:
                log.error("%s: a record cannot be delivered: %s", self._claimed.job, error)
                self.refusal = str(error)
                return

    def _send(self) -> None:
        records = self._outbox.peek()
        for record in records:
            self._upload(record)
        if self._lease.lost is not None:
            return
        self.acknowledged = self._door.post_records(
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
        self._door.put_blob(path, blob.sha256, kind)
        self._uploaded.add(blob.sha256)
        path.unlink(missing_ok=True)  # a long run would fill the disk with what is stored elsewhere
