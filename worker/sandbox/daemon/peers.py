"""The daemon's listeners, their access control, and connections."""

import asyncio
import contextlib
import os
import socket
import struct
from collections.abc import Awaitable, Callable, Hashable
from pathlib import Path
from typing import Any

from worker.sandbox.daemon.calls import BadRequest
from worker.sandbox.daemon.tls_server import TlsServer
from worker.sandbox.transport import frames, tls
from worker.sandbox.transport.tls import KeyFile

_CREDENTIALS = struct.Struct("iII")
_WAITING_PER_CONNECTION = 64

Answer = Callable[[dict[str, Any], bytes, Hashable], Awaitable[frames.Packed]]


class Listener:
    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._tls: TlsServer | None = None
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False

    async def open_unix(self, path: Path) -> None:
        self._servers.append(
            await asyncio.start_unix_server(self._local, sock=_bind(path), limit=frames.BUFFER_BYTES)
        )

    async def open_tcp(self, host: str, port: int, key: KeyFile) -> int:
        self._tls = TlsServer(key, self._remote)
        server = await self._tls.open(host, port)
        self._servers.append(server)
        return int(server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        self._closing = True
        for server in self._servers:
            server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._tls is not None:
            await self._tls.close()

    async def _local(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with self._counted(writer):
            peer = _allowed_peer(writer.get_extra_info("socket"))
            if peer is not None:
                await _Connection(self._answer, reader, writer, peer).serve()

    async def _remote(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, process: bytes
    ) -> None:
        await _Connection(self._answer, reader, writer, process).serve()

    @contextlib.asynccontextmanager
    async def _counted(self, writer: asyncio.StreamWriter) -> Any:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            yield
        except asyncio.CancelledError:
            # The stream's own callback logs a traceback for a cancelled connection (Python 3.11); this is a clean end.
            if not self._closing:
                raise
        finally:
            self._tasks.discard(task)
            writer.close()


class _Connection:
    """Answers one peer's requests concurrently; cancels its calls when it disconnects."""

    def __init__(
        self,
        answer: Answer,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        peer: Hashable,
    ):
        self._answered_by = answer
        self._reader = reader
        self._writer = writer
        self._peer = peer
        self._room = asyncio.Semaphore(_WAITING_PER_CONNECTION)
        self._answers: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        try:
            while True:
                await self._room.acquire()
                request = await self._read()
                if request is None:
                    return
                task = asyncio.create_task(self._answer(*request))
                self._answers.add(task)
                task.add_done_callback(self._answers.discard)
        finally:
            for task in self._answers:
                task.cancel()

    async def _read(self) -> tuple[dict[str, Any], bytes] | None:
        try:
            head, body = frames.sizes(await self._reader.readexactly(frames.SIZES.size))
            async with asyncio.timeout(tls.FRAME_SECONDS):
                contents = await self._reader.readexactly(head), await self._reader.readexactly(body)
            return frames.decode(contents[0]), contents[1]
        except (asyncio.IncompleteReadError, OSError, TimeoutError, frames.WireError):
            return None

    async def _answer(self, request: dict[str, Any], body: bytes) -> None:
        answer_body = b""
        try:
            result, answer_body = await self._answered_by(request, body, self._peer)
            answer = {"id": request.get("id"), "result": result}
        except BadRequest as error:
            answer = {"id": request.get("id"), "error": str(error)}
        except Exception:  # our fault: without an answer the peer would wait forever
            self._writer.close()
            raise
        finally:
            self._room.release()
        frame = frames.encode(answer, answer_body)
        with contextlib.suppress(ConnectionError):
            self._writer.write(frame)
            await self._writer.drain()


def _allowed_peer(connection: socket.socket) -> int | None:
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, _ = _CREDENTIALS.unpack(raw)
    return pid if uid in (0, os.geteuid()) else None


def _bind(path: Path) -> socket.socket:
    if len(os.fsencode(path)) > frames.MAX_PATH_BYTES:
        raise OSError(f"the socket's path is longer than {frames.MAX_PATH_BYTES} bytes: {path}")
    listener = socket.socket(socket.AF_UNIX)
    if path.is_socket():
        with socket.socket(socket.AF_UNIX) as attempt:
            try:
                attempt.connect(str(path))
            except OSError:
                path.unlink()
            else:
                raise OSError(f"a sandbox daemon already listens on {path}")
    mask = os.umask(0o177)
    try:
        listener.bind(str(path))
    finally:
        os.umask(mask)
    listener.listen(64)
    return listener
