"""Cancels RPCs whose callers have disconnected."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from reinforge.schemas.worker_api import CallChunk
from worker.backend_api.client import BackendAway, WorkerApi, WorkerApiRefused

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class _Running:
    began: float
    cancel: Callable[[], None]


class CallWatch:
    def __init__(self, api: WorkerApi) -> None:
        self._api = api
        self._running: dict[str, _Running] = {}
        self._changed = threading.Condition()
        self._started = False

    @contextlib.contextmanager
    def watching(self, call_id: str, cancel: Callable[[], None]) -> Iterator[None]:
        """Watch an RPC: `cancel` is called once, from another thread, if the caller disconnects."""
        with self._changed:
            self._running[call_id] = _Running(time.monotonic(), cancel)
            if not self._started:
                threading.Thread(target=self._watch, name="call-watch", daemon=True).start()
                self._started = True
            self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._running.pop(call_id, None)

    def _watch(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._running)
            time.sleep(LOOK_SECONDS)
            late = time.monotonic() - LOOK_SECONDS
            for call_id, running in list(self._running.items()):
                if running.began <= late and not self._is_waited_for(call_id):
                    log.info("%s is cancelled, because its caller has disconnected", call_id)
                    with self._changed:
                        self._running.pop(call_id, None)
                    running.cancel()

    def _is_waited_for(self, call_id: str) -> bool:
        try:
            self._api.post_chunk(call_id, CallChunk(seq=1, events=[]))
        except WorkerApiRefused as error:
            return error.code != "call_not_found"
        except BackendAway:
            return True
        except Exception:  # this thread must survive
            log.exception("could not check whether the caller of %s is connected", call_id)
        return True
