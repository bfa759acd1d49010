"""One connection of a client to the daemon, used by one thread at a time."""

import socket
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from . import wire

_IN_FLIGHT = 4

Request = tuple[dict[str, Any], bytes]
"""Head and body of a frame."""


class Connection:
    """Connects at once; raises OSError."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.connect(str(path))
        except OSError:
            self._socket.close()
            raise

    def stale(self) -> bool:
        """Whether the daemon closed this connection while it was idle."""
        try:
            self._socket.setblocking(False)
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True
        finally:
            self._socket.setblocking(True)
        return True

    def ask(self, requests: Sequence[Request]) -> list[dict[str, Any]]:
        """Send requests, a few ahead of their answers, and return the answers in order.

        Raises OSError and EOFError when the connection breaks, ``ValueError`` for a refused request.
        """
        answers: dict[int, dict[str, Any]] = {}
        waiting = iter(enumerate(requests))
        for number, request in islice(waiting, _IN_FLIGHT):
            self._send(number, request)
        while len(answers) < len(requests):
            head, body = wire.sizes(self._read(wire.SIZES.size))
            answer = wire.decode(self._read(head))
            self._read(body)
            if "error" in answer:
                raise ValueError(answer["error"])
            answers[answer["id"]] = answer["result"]
            for number, request in islice(waiting, 1):
                self._send(number, request)
        return [answers[i] for i in range(len(requests))]

    def close(self) -> None:
        self._socket.close()

    def _send(self, number: int, request: Request) -> None:
        head, body = request
        self._socket.sendall(wire.encode({**head, "id": number}, body))

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = self._socket.recv(min(size - len(data), 1 << 20))
            if not part:
                raise EOFError("the connection was closed")
            data += part
        return bytes(data)
