"""HTTP with retries: one place that speaks to the network and turns failures into `ReinforgeError`s."""

import random
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from reinforge.errors import (
    InvalidInput,
    NotAllowed,
    NotAuthenticated,
    NotFound,
    ReinforgeError,
    Stale,
    StateConflict,
    TooLarge,
    Unavailable,
)

RETRIED = frozenset({408, 409, 429, 500, 502, 503, 504})
MAX_WAIT_SECONDS = 120.0
WORKER_SECONDS = 300.0
"""For requests that the server answers with a worker's help; it gives up before."""
_BY_STATUS: dict[int, type[ReinforgeError]] = {
    400: InvalidInput,
    401: NotAuthenticated,
    403: NotAllowed,
    404: NotFound,
    409: StateConflict,
    412: Stale,
    413: TooLarge,
    422: InvalidInput,
    429: Unavailable,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}


class ServerUnreachable(Unavailable):
    """No connection, or it broke, after all retries."""

    default_code = "server_unreachable"


def error_from(response: httpx.Response) -> ReinforgeError:
    """The error that a response with status ≥ 400 stands for; its body must have been read."""
    try:
        body = response.json().get("error") or {}
    except (ValueError, AttributeError):
        body = {}
    kind = _BY_STATUS.get(response.status_code, ReinforgeError)
    return kind(
        body.get("message") or f"The server answered {response.status_code} {response.reason_phrase}.",
        code=body.get("code") or f"http_{response.status_code}",
        hint=body.get("hint"),
        param=body.get("param"),
        errors=body.get("errors"),
    )


def retry_wait(attempt: int, response: httpx.Response | None) -> float | None:
    """Seconds to wait before trying again, or None when the answer is final.

    `x-should-retry` decides if present; `retry-after` (seconds or a date) is honoured up to two minutes.
    """
    backoff: float = min(8.0, 0.5 * 2**attempt) * (1 - random.random() * 0.25)
    if response is None:
        return backoff
    should = response.headers.get("x-should-retry")
    if should == "false" or (should != "true" and response.status_code not in RETRIED):
        return None
    after = response.headers.get("retry-after")
    if after:
        try:
            seconds = float(after)
        except ValueError:
            try:
                seconds = parsedate_to_datetime(after).timestamp() - time.time()
            except ValueError:
                return backoff
        return max(0.0, seconds) if seconds <= MAX_WAIT_SECONDS else None
    return backoff


class Transport:
    """Sends requests relative to `<base_url>/api/v1`."""

    def __init__(
        self, base_url: str, api_key: str | None, *, timeout: float = 60.0, retries: int = 3
    ) -> None:
        self.base_url = base_url.rstrip("/")
        headers = {"user-agent": "reinforge-python"}
        if api_key:
            headers["authorization"] = f"Bearer {api_key}"
        self.retries = retries
        self.http = httpx.Client(
            base_url=f"{self.base_url}/api/v1", headers=headers, timeout=httpx.Timeout(timeout, connect=5.0)
        )

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        """The response of a request that succeeded; a POST carries one idempotency key over all its tries."""
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
            if response is not None and response.status_code < 400:
                return response
            wait = retry_wait(attempt, response) if attempt < self.retries else None
            if wait is None:
                if response is not None:
                    raise error_from(response)
                raise self.unreachable(cause) from cause
            _rewind(options.get("files"))
            time.sleep(wait)
        raise AssertionError("unreachable")

    def unreachable(self, cause: Exception | None) -> ServerUnreachable:
        return ServerUnreachable(
            f"No answer from {self.base_url}: {cause}.",
            hint="Is the server running (`reinforge up`), and is REINFORGE_URL right?",
        )

    def get(self, path: str, **params: Any) -> Any:
        return self.request("GET", path, params={k: v for k, v in params.items() if v is not None}).json()

    def post(self, path: str, body: Any = None, *, at_least: float = 0.0) -> Any:
        """`at_least`: seconds that the answer may take, however short the client's own time-out is."""
        own = self.http.timeout
        read = None if own.read is None else max(own.read, at_least)
        timeout = httpx.Timeout(connect=own.connect, read=read, write=own.write, pool=own.pool)
        return self.request("POST", path, json=body, timeout=timeout).json()

    @contextmanager
    def stream(self, path: str, **options: Any) -> Iterator[httpx.Response]:
        """A response whose body is read while it comes."""
        try:
            with self.http.stream("GET", path, **options) as response:
                if response.status_code >= 400:
                    response.read()
                    raise error_from(response)
                yield response
        except httpx.TransportError as error:
            raise self.unreachable(error) from error

    def patch(self, path: str, body: Any) -> Any:
        return self.request("PATCH", path, json=body).json()

    def delete(self, path: str) -> None:
        self.request("DELETE", path)

    def close(self) -> None:
        self.http.close()


def _rewind(files: dict[str, Any] | None) -> None:
    for part in (files or {}).values():
        handle = part[1] if isinstance(part, tuple) else part
        if hasattr(handle, "seek"):
            handle.seek(0)
