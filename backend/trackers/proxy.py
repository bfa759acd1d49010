"""HTTP proxy on the loopback interface for W&B's library: tunnels to allowed addresses, and nowhere else."""

import asyncio
import contextlib
import secrets
from base64 import b64encode
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

from reinforge.net.outbound import AddressRefused, Guard

_HEAD_BYTES = 16 * 1024
_HEAD_SECONDS = 10.0
_CHUNK = 64 * 1024


class EgressProxy:
    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._password = secrets.token_urlsafe(16)
        self.refusals: list[str] = []

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        """Run the proxy; yields its address, with a password."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=_HEAD_BYTES)
        try:
            yield f"http://export:{self._password}@127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            method, authority, *_ = head.split(" ", 2)
            if method != "CONNECT" or not self._is_authorised(head):
                writer.write(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")
                return
            upstream = await self._connect(authority)
            if upstream is None:
                writer.write(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")
                return
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await asyncio.gather(_copy(reader, upstream[1]), _copy(upstream[0], writer))
        except (OSError, TimeoutError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    def _is_authorised(self, head: str) -> bool:
        expected = b"Basic " + b64encode(f"export:{self._password}".encode())
        return any(
            secrets.compare_digest(line.partition(":")[2].strip().encode(), expected)
            for line in head.split("\r\n")
            if line.lower().startswith("proxy-authorization:")
        )

    async def _connect(self, authority: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """Connection to a checked address; None if refused. Raises OSError."""
        try:
            target = await self._guard.target(f"https://{authority}/")
        except AddressRefused as error:
            self.refusals.append(str(error))
            return None
        address = urlsplit(target.url)
        return await asyncio.open_connection(address.hostname, address.port or 443)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
    finally:
        writer.close()
