"""HTTP server: uvicorn with limits that apply before any application runs."""

import asyncio
import contextlib
import resource
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 15.0
HEAD_BYTES = 64 * 1024
LINGER_SECONDS = 5.0
FRAMING_BYTES = 1024 * 1024
"""Maximum bytes of a request's chunk sizes, extensions and trailers, beyond eight times its content."""
_DESCRIPTORS_APART = 256
_MOST_DESCRIPTORS = 65_536


class ServerConfig(uvicorn.Config):
    def __init__(self, app: Any, *, most_connections: int | None = None, **options: Any) -> None:
        super().__init__(app, http=BoundedHttp, ws="none", log_config=None, access_log=False, **options)
        self.most_connections = most_connections or affordable_connections()
        self.without_request: dict[BoundedHttp, None] = {}


def affordable_connections() -> int:
    """Maximum number of connections: three quarters of the file descriptors, as uploads and downloads open
    files.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(64, (soft - _DESCRIPTORS_APART) * 3 // 4)


def raise_descriptor_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _MOST_DESCRIPTORS)
    if soft < most:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


class BoundedHttp(HttpToolsProtocol):
    config: ServerConfig
    _head_timer: asyncio.TimerHandle | None = None
    _linger_timer: asyncio.TimerHandle | None = None
    _in_head = _in_body = False
    _framing = 0
    _content = 0
    _content_so_far = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.config.without_request[self] = None
        self._await_head()
        if len(self.connections) > self.config.most_connections:
            next(iter(self.config.without_request)).transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.config.without_request.pop(self, None)
        self._stop_head_timer()
        self._stop_linger_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self._in_body:
            self._await_head()
        content = self._content_so_far
        super().data_received(data)
        if self.transport.is_closing():
            return
        self._framing += len(data) - (self._content_so_far - content)
        if self._in_head and self._framing > HEAD_BYTES:
            self._refuse(b"431 Request Header Fields Too Large")
        elif self._in_body and self._framing > FRAMING_BYTES + 8 * self._content:
            self.transport.abort()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._framing, self._content = True, 0, 0

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # trailers after a chunked body, which nobody reads
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._stop_head_timer()
        self.config.without_request.pop(self, None)
        self._in_head, self._in_body, self._framing = False, True, 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._content += len(body)
        self._content_so_far += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_body = False
        self._stop_linger_timer()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            return
        if self._in_body and self._linger_timer is None and self.cycle.response_complete:
            self._linger_timer = self.loop.call_later(LINGER_SECONDS, self.transport.abort)
        elif self.cycle.response_complete:
            self.config.without_request[self] = None

    def _await_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self._refuse, b"408 Request Timeout")

    def _refuse(self, status: bytes) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.abort()  # an earlier request's response is being sent
        elif not self.transport.is_closing():
            self.transport.write(b"HTTP/1.1 %s\r\ncontent-length: 0\r\nconnection: close\r\n\r\n" % status)
            self.transport.close()

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _stop_linger_timer(self) -> None:
        if self._linger_timer is not None:
            self._linger_timer.cancel()
            self._linger_timer = None
