"""Helpers for signal handlers, without locks: a handler deadlocks on a lock that its thread holds."""

import os
import threading
import time
from collections.abc import Callable
from types import FrameType


class Relay:
    """Calls `act` in its own thread, once per signal; `handle` is the signal handler."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._thread = threading.Thread(target=self._run, name="signals", daemon=True)
        self._thread.start()

    def handle(self, number: int, frame: FrameType | None) -> None:
        os.write(self._write, b"!")

    def close(self) -> None:
        os.close(self._write)
        self._thread.join()
        os.close(self._read)

    def _run(self) -> None:
        while os.read(self._read, 1):
            self._act()


class Flag:
    """Like `threading.Event`, but safe in nested signal handlers. `wait` notices `set` within 50 ms."""

    def __init__(self) -> None:
        self._set = False

    def set(self) -> None:
        self._set = True

    def wait(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while not self._set and (remaining := until - time.monotonic()) > 0:
            time.sleep(min(0.05, remaining))
        return self._set
