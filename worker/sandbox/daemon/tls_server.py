"""TLS handshakes: only clients with the daemon's key file get through."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from worker.sandbox import log_lines
from worker.sandbox.transport import frames, tls
from worker.sandbox.transport.tls import KeyFile

MAX_HANDSHAKES = 64
_REPORT_SECONDS = 10.0
_CLOSE_SECONDS = 1.0

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter, bytes], Awaitable[None]]


class TlsServer:
    def __init__(self, key: KeyFile, serve: Serve) -> None:
        self._key = key
        self._context = key.server_context()
        self._serve = serve
        self._handshakes: dict[asyncio.Task[None], None] = {}
        self._connections: set[asyncio.Task[None]] = set()
        self._report_at = 0.0
        self._unreported = 0

    async def open(self, host: str, port: int) -> asyncio.Server:
        return await asyncio.get_running_loop().create_server(lambda: _Accepted(self.accept), host, port)

    async def close(self) -> None:
        tasks = [*self._handshakes, *self._connections]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def accept(self, transport: asyncio.Transport) -> None:
        if len(self._handshakes) >= MAX_HANDSHAKES:
            oldest = next(iter(self._handshakes))
            del self._handshakes[oldest]
            oldest.cancel()
        task = asyncio.get_running_loop().create_task(self._run(transport))
        self._handshakes[task] = None
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        # Of a task that is cancelled before its first step no line runs.
        task.add_done_callback(lambda ended: transport.abort() if ended.cancelled() else None)

    async def _run(self, transport: asyncio.Transport) -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            try:
                reader, writer, process = await self._handshake(transport)
            finally:
                self._handshakes.pop(task, None)
        except (OSError, EOFError) as error:
            transport.abort()
            self._report(transport, error)
            return
        try:
            await self._serve(reader, writer, process)
        finally:
            writer.close()

    async def _handshake(
        self, transport: asyncio.Transport
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, bytes]:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=frames.BUFFER_BYTES)
        protocol = asyncio.StreamReaderProtocol(reader)
        async with asyncio.timeout(tls.HANDSHAKE_SECONDS):
            tls.keep_alive(transport.get_extra_info("socket"))
            secured = await loop.start_tls(
                transport,
                protocol,
                self._context,
                server_side=True,
                ssl_handshake_timeout=tls.HANDSHAKE_SECONDS,
                ssl_shutdown_timeout=_CLOSE_SECONDS,
            )
            if secured is None:  # the client disconnected in the handshake's last moment
                raise EOFError
            protocol.connection_made(secured)
            self._key.check_peer(secured.get_extra_info("ssl_object"))
            process = await reader.readexactly(tls.PROCESS_BYTES)
            writer = asyncio.StreamWriter(secured, protocol, reader, loop)
            writer.write(tls.GREETING)
        return reader, writer, process

    def _report(self, transport: asyncio.Transport, error: OSError | EOFError) -> None:
        self._unreported += 1
        if time.monotonic() < self._report_at:
            return
        peer = transport.get_extra_info("peername") or ("a client",)
        more = f" ({self._unreported} since the last line)" if self._unreported > 1 else ""
        log_lines.write(f"refused {peer[0]}: {_reason(error)}{more}", "warning")
        self._report_at, self._unreported = time.monotonic() + _REPORT_SECONDS, 0


class _Accepted(asyncio.Protocol):
    def __init__(self, accept: Callable[[asyncio.Transport], None]) -> None:
        self._accept = accept

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()
        self._accept(transport)


def _reason(error: OSError | EOFError) -> str:
    reason = getattr(error, "reason", None) or ""
    if reason == "PEER_DID_NOT_RETURN_A_CERTIFICATE" or "ALERT" in reason:
        return "it does not have the key file"
    if reason == "CERTIFICATE_VERIFY_FAILED" or isinstance(error, tls.TlsError):
        return f"it has another key file, or the certificate has expired: {error}"
    if reason in tls.NO_TLS:
        return "it does not use TLS. Update a worker of version 0.2 or older"
    if isinstance(error, TimeoutError):
        return f"no TLS handshake within {tls.HANDSHAKE_SECONDS:g} s"
    return f"it closed the connection during the TLS handshake: {error}".rstrip(": ")
