"""Where an engine host listens, and clients for it."""

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from worker.rollout.vllm.api import CONNECT_SECONDS, CONNECTIONS

READ_SECONDS = 30.0
IDLE_SECONDS = 20.0
"""An unused connection is closed after this time, before the host closes it."""


@dataclass(frozen=True, slots=True)
class HostAddress:
    url: str
    socket: Path | None = None
    token: str | None = None
    tls: ssl.SSLContext | None = None

    def client(self) -> httpx.Client:
        transport = httpx.HTTPTransport(
            uds=None if self.socket is None else str(self.socket), verify=self.tls or True, trust_env=False
        )
        return httpx.Client(transport=transport, timeout=READ_SECONDS, **self._common(""))

    def async_client(self, path: str) -> httpx.AsyncClient:
        """Client for routes below `path`. Its replies have no timeout: the server may queue requests."""
        transport = httpx.AsyncHTTPTransport(
            uds=None if self.socket is None else str(self.socket),
            verify=self.tls or True,
            trust_env=False,
            limits=httpx.Limits(
                max_connections=CONNECTIONS,
                max_keepalive_connections=CONNECTIONS,
                keepalive_expiry=IDLE_SECONDS,
            ),
        )
        timeout = httpx.Timeout(None, connect=CONNECT_SECONDS)
        return httpx.AsyncClient(transport=transport, timeout=timeout, **self._common(path))

    def _common(self, path: str) -> dict[str, Any]:
        headers = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        return {"base_url": self.url + path, "headers": headers, "trust_env": False}


def over_socket(socket: Path) -> HostAddress:
    return HostAddress("http://engine-host", socket)
