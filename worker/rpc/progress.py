import logging
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from worker.backend_api.client import BackendAway, WorkerApiRefused
from worker.models.hub import bytes_there

log = logging.getLogger(__name__)


class InspectionProgress:
    def __init__(self) -> None:
        self.phase = "looking"
        self._target: Path | None = None
        self._total = 0

    def downloading(self, target: Path, total: int) -> None:
        self.phase, self._target, self._total = "downloading", target, total

    def hashing(self) -> None:
        self.phase, self._target, self._total = "hashing", None, 0

    def bytes(self) -> tuple[int, int] | None:
        target = self._target
        return None if target is None else (min(bytes_there(target), self._total), self._total)


class ProgressThread:
    """Calls `report` every `every` seconds, so that the backend does not take a slow worker for dead."""

    def __init__(self, report: Callable[[], None], *, first: float, every: float, name: str) -> None:
        self._report, self._first, self._every = report, first, every
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"progress-{name}", daemon=True)
        self.refused: WorkerApiRefused | None = None

    def __enter__(self) -> "ProgressThread":
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
                self._report()
                pause = self._every
            except WorkerApiRefused as error:
                log.info("%s: the caller has disconnected: %s", self._thread.name, error.message)
                self.refused = error
                return
            except BackendAway:
                pause = self._first
