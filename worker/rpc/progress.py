"""A thread that says every so often how far long work is: who waits takes silence for a worker that is gone."""

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from worker.backend_api.client import BackendAway, WorkerApiRefused
from worker.models.hub import bytes_there

log = logging.getLogger(__name__)


class Looking:
    """How far the look at a model's files is; set by the work, read by the thread that tells."""

    def __init__(self) -> None:
        self.phase = "looking"
        self._target: Path | None = None
        self._total = 0

    def downloading(self, target: Path, total: int) -> None:
        self.phase, self._target, self._total = "downloading", target, total

    def hashing(self) -> None:
        self.phase, self._target, self._total = "hashing", None, 0

    def bytes(self) -> tuple[int, int] | None:
        """Of a download: so many of so many. What the library keeps beside the files is a little more."""
        target = self._target
        return None if target is None else (min(bytes_there(target), self._total), self._total)


class Telling:
    """Calls `tell` after `first` seconds and then every `every` seconds, for as long as the block lasts.

    It ends with the first refusal, which `refused` keeps; a backend that is away is told the next time.
    """

    def __init__(self, tell: Callable[[], None], *, first: float, every: float, name: str) -> None:
        self._tell, self._first, self._every = tell, first, every
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"telling-{name}", daemon=True)
        self.refused: WorkerApiRefused | None = None

    def __enter__(self) -> "Telling":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        pause = self._first
        while not self._over.wait(pause):
            try:
                self._tell()
                pause = self._every
            except WorkerApiRefused as error:
                log.info("%s: nobody waits any more: %s", self._thread.name, error.message)
                self.refused = error
                return
            except BackendAway:
                pause = self._first
