"""Keep-alive thread: regularly registers this worker and its sandbox's state with the backend."""

import logging
import secrets
import threading
from collections.abc import Callable
from typing import Literal

from reinforge import __version__
from reinforge.errors import ReinforgeError
from reinforge.net.broker import BrokerState
from reinforge.schemas.rpc.base import CallKind
from reinforge.schemas.worker_api import EngineName, Register
from worker.backend_api.client import WorkerApi
from worker.machine.gpus import list_gpus

log = logging.getLogger(__name__)

EVERY_SECONDS = 10.0
RETRY_SECONDS = 1.0


class Presence(threading.Thread):
    """Registers the worker every `EVERY_SECONDS`, and every `RETRY_SECONDS` after a failure."""

    def __init__(
        self,
        api: WorkerApi,
        worker_id: str,
        kind: Literal["trainer", "calls"],
        hostname: str,
        jail: Callable[[], tuple[str | None, list[str]]],
        answers: list[CallKind] | None = None,
        broker: Callable[[], BrokerState] | None = None,
        device: str | None = None,
        engines: list[EngineName] | None = None,
        waits_for: Callable[[], str | None] = lambda: None,
    ) -> None:
        super().__init__(name="presence", daemon=True)
        self._api, self._jail, self._answers, self._broker = api, jail, answers, broker
        self._id, self._kind, self._hostname = worker_id, kind, hostname
        self._device = device or visible_device()
        self._engines, self._waits_for = engines, waits_for
        self._process = secrets.token_hex(8)
        self.registered = threading.Event()
        """Set once this process is registered; earlier requests are attributed to a former process."""
        self._stopping = threading.Event()

    def stop(self) -> None:
        self._stopping.set()

    def run(self) -> None:
        complaint = None
        while not self._stopping.is_set():
            try:
                self.announce()
                self.registered.set()
                if complaint is not None:
                    log.info("registered with the backend again")
                complaint = None
            except ReinforgeError as error:
                if error.message != complaint:  # log each complaint once
                    log.warning("not registered: %s", error.message)
                complaint = error.message
            self._stopping.wait(EVERY_SECONDS if complaint is None else RETRY_SECONDS)

    def announce(self) -> None:
        jail, reasons = self._jail()
        self._api.register(
            Register(
                id=self._id,
                kind=self._kind,
                hostname=self._hostname,
                version=__version__,
                jail=jail,
                jail_reasons=reasons,
                device=self._device,
                answers=self._answers,
                broker=self._broker() if self._broker is not None else None,
                process=self._process,
                engines=self._engines,
                waits_for=self._waits_for(),
            )
        )


def visible_device() -> str:
    """Device in words: `cuda: <name>` if this worker may use an NVIDIA device, else `cpu`."""
    gpus = list_gpus()
    return f"cuda: {gpus[0].name}" if gpus else "cpu"
