# Generated from reinforge/client/aio/transport.py by scripts/sync_client.py: change that file.
"""HTTP transport with retries that raises `ReinforgeError`s."""

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from reinforge.client import protocol
from reinforge.client.protocol import Outage, ServerUnreachable, error_from, retry_wait
from reinforge.errors import Unavailable


class Transport:
    """Sends requests relative to `<base_url>/api/v1`."""

    def __init__(
        self, base_url: str, api_key: str | None, *, timeout: float = 60.0, retries: int = 3
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.retries = retries
        self.http = httpx.Client(
            base_url=f"{self.base_url}/api/v1",
            headers=protocol.headers(api_key),
            timeout=httpx.Timeout(timeout, connect=5.0),
        )

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request and return its successful response. Retries of a POST share one idempotency key."""
        headers = dict(options.pop("headers", None) or {})
        if method == "POST":
            headers.setdefault("idempotency-key", uuid.uuid4().hex)
        for attempt in range(self.retries + 1):
            response: httpx.Response | None = None
            cause: httpx.TransportError | None = None
            try:
                response = self.http.request(method, path, headers=headers, **options)
            except httpx.TransportError as error:
                cause = error
            except ValueError as error:
                raise protocol.not_json(error) from None
            if response is not None and response.status_code < 400:
                return response
            wait = retry_wait(attempt, response) if attempt < self.retries else None
            if wait is None:
                if response is not None:
                    raise error_from(response)
                raise self.unreachable(cause) from None
            protocol.rewind(options.get("files"))
            time.sleep(wait)
        raise AssertionError("unreachable")

    def unreachable(self, cause: Exception | None) -> ServerUnreachable:
        return protocol.unreachable(self.base_url, cause)

    def get(self, path: str, **params: Any) -> Any:
        response = self.request("GET", path, params=protocol.without_none(params))
        return response.json()

    def get_through_outage(self, path: str, outage: Outage, deadline: float | None = None) -> Any:
        """Like `get`, but waits until an outage of the server ends. Raises the errors of `Outage.pause`."""
        while True:
            try:
                document = self.get(path)
            except Unavailable as error:
                time.sleep(outage.pause(error, deadline))
            else:
                outage.end()
                return document

    def post(
        self,
        path: str,
        body: Any = None,
        *,
        at_least: float = 0.0,
        params: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> Any:
        """Send a POST request. at_least: minimum seconds to wait for the response."""
        timeout = protocol.patient(self.http.timeout, at_least)
        options = {"json": body, "timeout": timeout, "params": params, "headers": headers}
        response = self.request("POST", path, **options)
        return response.json()

    @contextmanager
    def stream(self, path: str, **options: Any) -> Iterator[httpx.Response]:
        try:
            with self.http.stream("GET", path, **options) as response:
                if response.status_code >= 400:
                    response.read()
                    raise error_from(response)
                yield response
        except httpx.TransportError as error:
            raise self.unreachable(error) from None

    def patch(self, path: str, body: Any, *, etag: str | None = None) -> Any:
        if not etag:
            document = self.get(path)
            etag = str(document["etag"])
        response = self.request("PATCH", path, json=body, headers={"if-match": etag})
        return response.json()

    def delete(self, path: str) -> None:
        self.request("DELETE", path)

    def put_elsewhere(self, url: str, *, headers: dict[str, str], data: bytes) -> bool:
        """PUT bytes to a URL outside the API, without this client's key. False if that fails."""
        http = httpx.Client(timeout=self.http.timeout)
        try:
            response = http.request("PUT", url, headers=headers, content=data)
            return bool(response.is_success)
        except httpx.TransportError:
            return False
        finally:
            http.close()

    def close(self) -> None:
        self.http.close()
