"""The call `inspect_model`: what a base model is, and how far its download and its hash are while somebody waits."""

import logging
import threading
from pathlib import Path
from typing import Any

from reinforge.schemas.worker_door import CallChunk, CallMessage
from worker.door import BackendAway, Door, DoorRefused
from worker.models.hub import bytes_there
from worker.models.inspect import inspect_model
from worker.models.sources import ModelStore

log = logging.getLogger(__name__)

TELL_SECONDS = 1.0


def inspect(door: Door, store: ModelStore, call: CallMessage) -> dict[str, Any]:
    """{source, hub_token?, check_token?} → facts. Sends events {type: progress, phase, done, total} meanwhile.

    A download goes on when nobody waits any more: what is there need not be fetched again.
    """
    with _Telling(door, call.id) as telling:
        return inspect_model(
            str(call.payload["source"]),
            store,
            token=call.payload.get("hub_token"),
            check_token=bool(call.payload.get("check_token")),
            begun=telling.downloading,
            hashing=telling.hashing,
        )


class _Telling:
    """A thread that says every second how far it is; the backend takes silence for a worker that is gone."""

    def __init__(self, door: Door, call_id: str) -> None:
        self._door, self._call = door, call_id
        self._over = threading.Event()
        self._phase = "looking"
        self._target: Path | None = None
        self._total = 0
        self._thread = threading.Thread(target=self._run, name=f"telling-{call_id}", daemon=True)

    def downloading(self, target: Path, total: int) -> None:
        self._phase, self._target, self._total = "downloading", target, total

    def hashing(self) -> None:
        self._phase, self._target, self._total = "hashing", None, 0

    def __enter__(self) -> "_Telling":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        seq = 0
        while not self._over.wait(TELL_SECONDS if seq else 0.05):
            seq += 1
            try:
                self._door.post_chunk(self._call, CallChunk(seq=seq, events=[self._event()]))
            except DoorRefused as error:
                log.info("nobody waits for %s any more: %s", self._call, error.message)
                return
            except BackendAway:
                seq -= 1

    def _event(self) -> dict[str, Any]:
        event: dict[str, Any] = {"type": "progress", "phase": self._phase}
        if self._target is not None:
            # What the library keeps beside the files makes it a little more than there will be.
            event |= {"done": min(bytes_there(self._target), self._total), "total": self._total}
        return event
