"""A bare HTTP client on one connection, so that whoever makes the load spends little on it."""

import http.client
import json
import time
from typing import Any
from urllib.parse import urlsplit


class Wire:
    """One connection; it is opened again when the server has closed it. Not for several threads."""

    def __init__(self, url: str, token: str, timeout: float = 60.0) -> None:
        self._connection = http.client.HTTPConnection(str(urlsplit(url).netloc), timeout=timeout)
        self._headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}

    def ask(self, method: str, path: str, body: bytes | None = None) -> tuple[float, int, bytes]:
        """Seconds, status and body of the answer; the clock includes a connection's opening."""
        started = time.perf_counter()
        for again in (True, False):
            try:
                self._connection.request(method, path, body, self._headers)
                reply = self._connection.getresponse()
                content = reply.read()
                break
            except (http.client.RemoteDisconnected, ConnectionError):
                self._connection.close()
                if not again:
                    raise
        return time.perf_counter() - started, reply.status, content

    def get(self, path: str) -> tuple[float, Any]:
        """Seconds and the answer's JSON. Raises RuntimeError unless 200."""
        seconds, status, content = self.ask("GET", path)
        if status != 200:
            raise RuntimeError(f"{path}: {status} {content[:300]!r}")
        return seconds, json.loads(content)

    def stream(self, path: str) -> http.client.HTTPResponse:
        self._connection.request("GET", path, headers=self._headers)
        return self._connection.getresponse()

    def close(self) -> None:
        self._connection.close()
