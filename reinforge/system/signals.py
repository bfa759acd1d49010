"""What a signal handler may do.

It runs in the main thread between two of its instructions. If those are inside of a lock, as every `threading.Event`
has one, a handler that wants the same lock waits for its own thread, forever.
"""

import os
import threading
import time
from collections.abc import Callable
from types import FrameType


class Relay:
    """Calls `act` in a thread of its own, once for every signal; `handle` is the handler."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._thread = threading.Thread(target=self._run, name="signals", daemon=True)
        self._thread.start()

    def handle(self, number: int, frame: FrameType | None) -> None:
        os.write(self._write, b"!")

    def close(self) -> None:
        """After the handler has been taken away; waits for an `act` under way."""
        os.close(self._write)
        self._thread.join()
        os.close(self._read)

    def _run(self) -> None:
        while os.read(self._read, 1):
            self._act()


class Flag:
    """Like `threading.Event`, to be set by a handler, also by one that interrupts another; noticed a little later."""

    def __init__(self) -> None:
        self._set = False

    def set(self) -> None:
        self._set = True

    def wait(self, seconds: float) -> bool:
        """Whether it is set, at the latest after `seconds`."""
        until = time.monotonic() + seconds
        while not self._set and (left := until - time.monotonic()) > 0:
            time.sleep(min(0.05, left))
        return self._set
