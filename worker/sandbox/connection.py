"""One connection of a client to the daemon, used by one thread at a time."""

import hmac
import socket
from collections.abc import Sequence
from itertools import islice
from typing import Any

from . import remote, wire
from .remote import Address, RemoteError, Seal

_IN_FLIGHT = 4

Request = tuple[dict[str, Any], bytes]
"""Head and body of a frame."""


class Connection:
    """Connects at once, over TCP with proof of the token; raises OSError."""

    def __init__(self, address: Address, token: str | None = None) -> None:
        self._out: Seal | None = None
        self._in: Seal | None = None
        if address.path is not None:
            self._socket = socket.socket(socket.AF_UNIX)
        else:
            self._socket = socket.create_connection((address.host, address.port), remote.HANDSHAKE_SECONDS)
        try:
            if address.path is not None:
                self._socket.connect(address.path)
            else:
                remote.keep_alive(self._socket)
                self._handshake(token or "")
                self._socket.settimeout(None)
        except EOFError as error:
            self._socket.close()
            raise RemoteError(str(error)) from error
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
            answer = self._receive()
            if "error" in answer:
                raise ValueError(answer["error"])
            answers[answer["id"]] = answer["result"]
            for number, request in islice(waiting, 1):
                self._send(number, request)
        return [answers[i] for i in range(len(requests))]

    def close(self) -> None:
        self._socket.close()

    def _handshake(self, token: str) -> None:
        challenge, answer = remote.introduce(token, self._read(remote.GREETING_BYTES))
        self._socket.sendall(answer)
        try:
            proof = self._read(remote.TAG)
        except EOFError:
            raise RemoteError("the daemon does not accept this token") from None
        if not hmac.compare_digest(proof, challenge.proof("daemon")):
            raise RemoteError("what listens there does not hold the token")
        self._out, self._in = challenge.seal("client"), challenge.seal("daemon")

    def _send(self, number: int, request: Request) -> None:
        head, body = request
        frame = wire.encode({**head, "id": number}, body)
        self._socket.sendall(frame)
        if self._out is not None:
            self._socket.sendall(self._out.tag(frame))

    def _receive(self) -> dict[str, Any]:
        sizes = self._read(wire.SIZES.size)
        contents = self._read(sum(wire.sizes(sizes)))
        if self._in is not None:
            self._in.check(self._read(remote.TAG), sizes, contents)
        return wire.decode(contents[: wire.sizes(sizes)[0]])

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = self._socket.recv(min(size - len(data), 1 << 20))
            if not part:
                raise EOFError("the connection was closed")
            data += part
        return bytes(data)
