"""What both clients know of the wire: which answers are errors, which are tried again, and after how long."""

import random
import time
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from reinforge.errors import (
    InvalidInput,
    MatchNeeded,
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
    428: MatchNeeded,
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
        current=body.get("current"),
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


def unreachable(base_url: str, cause: Exception | None) -> ServerUnreachable:
    return ServerUnreachable(
        f"No answer from {base_url}: {cause}.",
        hint="Is the server running (`reinforge up`), and is its address right (REINFORGE_URL, `reinforge login`)?",
    )


def headers(api_key: str | None) -> dict[str, str]:
    """Of every request."""
    sent = {"user-agent": "reinforge-python"}
    return sent | {"authorization": f"Bearer {api_key}"} if api_key else sent


def given(params: dict[str, Any]) -> dict[str, Any]:
    """Without those that are None."""
    return {name: value for name, value in params.items() if value is not None}


def patient(own: httpx.Timeout, at_least: float) -> httpx.Timeout:
    """The same time-outs, with at least so many seconds for the answer."""
    read = None if own.read is None else max(own.read, at_least)
    return httpx.Timeout(connect=own.connect, read=read, write=own.write, pool=own.pool)


def rewind(files: dict[str, Any] | None) -> None:
    """Files of a request that is sent once more begin at their start again."""
    for part in (files or {}).values():
        handle = part[1] if isinstance(part, tuple) else part
        if hasattr(handle, "seek"):
            handle.seek(0)
