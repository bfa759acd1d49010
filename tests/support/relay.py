"""TCP relay between a client and a server on this machine that a test can cut, silence and restore."""

import contextlib
import socket
import threading
from types import TracebackType
from typing import Self


class Relay:
    """Passes TCP connections on to `port` of this machine.

        with Relay(port) as relay:
            ...  # talk to relay.url
            relay.cut()

    A browser's own offline switch leaves open responses flowing; this one does not.
    """

    def __init__(self, port: int) -> None:
        self._target = ("127.0.0.1", port)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self._pairs: list[_Pair] = []
        self._is_cut = False
        self._thread = threading.Thread(target=self._accept, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def cut(self) -> None:
        """Break every connection and answer no new one."""
        with self._lock:
            self._is_cut = True
            self._drop()

    def restore(self) -> None:
        with self._lock:
            self._is_cut = False

    def silence(self) -> None:
        """Send no more bytes on open connections, as after a suspend. New connections work."""
        with self._lock:
            for pair in self._pairs:
                pair.silent = True

    def _drop(self) -> None:
        for pair in self._pairs:
            pair.close()
        self._pairs.clear()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:  # closed: the test is over
                return
            with self._lock:
                if self._is_cut:
                    near.close()
                    continue
                self._pairs.append(_Pair(near, socket.create_connection(self._target)))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()
        with self._lock:
            self._drop()


class _Pair:
    """One connection: copies bytes in both directions."""

    def __init__(self, near: socket.socket, far: socket.socket) -> None:
        self.silent = False
        self._ends = (near, far)
        for source, sink in ((near, far), (far, near)):
            threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if not self.silent:
                    sink.sendall(data)
        if not self.silent:
            self.close()

    def close(self) -> None:
        for end in self._ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
