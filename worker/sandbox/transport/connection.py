"""A client's connection to the daemon, for one thread at a time."""

import contextlib
import socket
import ssl
from collections.abc import Iterable, Iterator
from itertools import islice

from worker.sandbox.transport import frames, tls
from worker.sandbox.transport.address import Address
from worker.sandbox.transport.tls import KeyFile

_IN_FLIGHT = 4


class Connection:
    def __init__(self, address: Address, key: KeyFile | None = None) -> None:
        if address.path is not None:
            self._socket = socket.socket(socket.AF_UNIX)
            try:
                self._socket.connect(address.path)
            except OSError:
                self._socket.close()
                raise
        else:
            assert key is not None
            self._socket = _secure(
                socket.create_connection((address.host, address.port), tls.HANDSHAKE_SECONDS), key
            )

    def stale(self) -> bool:
        try:
            self._socket.setblocking(False)
            socket.socket.recv(self._socket, 1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True
        finally:
            self._socket.setblocking(True)
        return True

    def ask(self, requests: Iterable[frames.Packed]) -> Iterator[tuple[int, frames.Packed]]:
        """Send requests and yield (position, answer) as answers arrive. Iterate to the end.

        Raises OSError and EOFError when the connection breaks, ``ValueError`` for a refused request.
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
        sent = 0
        for number, request in islice(waiting, most):
            self._send(number, request)
            sent += 1
        return sent

    def abort(self) -> None:
        """Shut the connection down, from any thread.

        ``SSLSocket``'s own method drops the encryption while another thread may still send.
        """
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def close(self) -> None:
        self._socket.close()

    def _send(self, number: int, request: frames.Packed) -> None:
        head, body = request
        self._socket.sendall(frames.encode({**head, "id": number}, body))

    def _receive(self) -> frames.Packed:
        head, body = frames.sizes(_read(self._socket, frames.SIZES.size))
        contents = _read(self._socket, head + body)
        return frames.decode(contents[:head]), contents[head:]


def _secure(connection: socket.socket, key: KeyFile) -> ssl.SSLSocket:
    """Authenticate both ends; closes the connection on failure. Raises TlsError."""
    try:
        with connection:
            tls.keep_alive(connection)
            secured = key.client_context.wrap_socket(connection)  # detaches the connection
        try:
            key.check_peer(secured)
            secured.sendall(tls.OWN_PROCESS)
            if _read(secured, len(tls.GREETING)) != tls.GREETING:
                raise tls.TlsError(
                    "the sandbox there has another version. Update both machines to the same version"
                )
            secured.settimeout(None)
        except BaseException:
            secured.close()
            raise
    except (OSError, EOFError) as error:
        raise tls.explain(error) from error
    return secured


def _read(connection: socket.socket, size: int) -> bytes:
    data = memoryview(bytearray(size))
    position = 0
    while position < size:
        count = connection.recv_into(data[position:])
        if not count:
            raise EOFError("the connection was closed")
        position += count
    return data.tobytes()
