"""A client's connection to the daemon, for one thread at a time."""

import contextlib
import hmac
import socket
from collections.abc import Iterable, Iterator
from itertools import islice

from worker.sandbox.transport import frames, remote
from worker.sandbox.transport.remote import Address, RemoteError, Seal

_IN_FLIGHT = 4


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

    def ask(self, requests: Iterable[frames.Packed]) -> Iterator[tuple[int, frames.Packed]]:
        """Send requests, a few ahead of their answers, and yield (position, answer) as they arrive. Exhaust
        it.

        Building requests and reading answers overlap with running calls. Raises OSError and EOFError when the
        connection breaks, ``ValueError`` for a refused request.
        """
        waiting = iter(enumerate(requests))
        in_flight = self._send_some(waiting, _IN_FLIGHT)
        while in_flight:
            answer, body = self._receive()
            if "error" in answer:
                raise ValueError(answer["error"])
            in_flight += self._send_some(waiting, 1) - 1
            yield answer["id"], (answer["result"], body)

    def _send_some(self, waiting: Iterator[tuple[int, frames.Packed]], most: int) -> int:
        """Returns the number sent: fewer at the end."""
        sent = 0
        for number, request in islice(waiting, most):
            self._send(number, request)
            sent += 1
        return sent

    def abort(self) -> None:
        """Callable from another thread: readers find the connection closed."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

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

    def _send(self, number: int, request: frames.Packed) -> None:
        head, body = request
        frame = frames.encode({**head, "id": number}, body)
        self._socket.sendall(frame)
        if self._out is not None:
            self._socket.sendall(self._out.tag(frame))

    def _receive(self) -> frames.Packed:
        sizes = self._read(frames.SIZES.size)
        contents = self._read(sum(frames.sizes(sizes)))
        if self._in is not None:
            self._in.check(self._read(remote.TAG), sizes, contents)
        end = frames.sizes(sizes)[0]
        return frames.decode(contents[:end]), contents[end:]

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = self._socket.recv(min(size - len(data), 1 << 20))
            if not part:
                raise EOFError("the connection was closed")
            data += part
        return bytes(data)
