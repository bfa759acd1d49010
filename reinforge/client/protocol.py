"""Rules that the sync and async clients share: which responses are errors, and when to retry."""

import logging
import random
import time
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

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

E = TypeVar("E", bound=ReinforgeError)
log = logging.getLogger("reinforge.client")
RETRIED = frozenset({408, 409, 429, 500, 502, 503, 504})
MAX_WAIT_SECONDS = 120.0
OUTAGE_SECONDS = 600.0
"""How long a wait goes on while the server does not answer."""
OUTAGE_POLL_SECONDS = 5.0
WORKER_SECONDS = 300.0
"""Time-out of requests that need a worker; the server gives up earlier."""
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
    """The connection failed or broke, even after all retries."""

    default_code = "server_unreachable"


def error_from(response: httpx.Response) -> ReinforgeError:
    """Convert a response with status ≥ 400 to an error. Its body must have been read."""
    try:
        body = response.json().get("error") or {}
    except (ValueError, AttributeError, RecursionError):
        body = {}
    kind = _BY_STATUS.get(response.status_code, ReinforgeError)
    return _with_note(
        kind(
            body.get("message") or f"The server answered {response.status_code} {response.reason_phrase}.",
            code=body.get("code") or f"http_{response.status_code}",
            hint=body.get("hint"),
            param=body.get("param"),
            errors=body.get("errors"),
            current=body.get("current"),
            faults=body.get("faults"),
        )
    )


def _with_note(error: E) -> E:
    if error.hint:
        error.add_note(f"Hint: {error.hint}")
    return error


def retry_wait(attempt: int, response: httpx.Response | None) -> float | None:
    """Seconds until the retry; None if the response is final.

    `x-should-retry` decides if present. None also if `retry-after` (seconds or a date) exceeds two minutes.
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
    return _with_note(
        ServerUnreachable(
            f"No answer from {base_url}: {cause}.",
            hint="Check that the server runs (`reinforge up`) and its address (REINFORGE_URL or login).",
        )
    )


def not_json(cause: ValueError) -> InvalidInput:
    return InvalidInput(
        f"The request cannot be written as JSON: {cause}.",
        code="not_json",
        hint="Use finite numbers: neither NaN nor infinity.",
    )


class Outage:
    """Lets a wait survive an outage of the server for up to `OUTAGE_SECONDS`, and logs the outage once.

    If the server has never answered, the wait ends at once: the address may be wrong.
    """

    def __init__(self) -> None:
        self._answered, self._since = False, 0.0

    def end(self) -> None:
        self._answered, self._since = True, 0.0

    def pause(self, error: Unavailable, deadline: float | None = None) -> float:
        """Seconds until a retry. Raises `error` to end the wait, TimeoutError at `deadline` (monotonic)."""
        now = time.monotonic()
        if deadline is not None and now >= deadline:
            raise TimeoutError(f"{error.message} Timed out.") from error
        if not self._answered:
            raise error
        if not self._since:
            self._since = now
            log.warning("%s Trying again for up to %.0f minutes.", error.message, OUTAGE_SECONDS / 60)
        if now - self._since >= OUTAGE_SECONDS:
            raise error
        return OUTAGE_POLL_SECONDS if deadline is None else min(OUTAGE_POLL_SECONDS, deadline - now)


def headers(api_key: str | None) -> dict[str, str]:
    sent = {"user-agent": "reinforge-python"}
    return sent | {"authorization": f"Bearer {api_key}"} if api_key else sent


def without_none(params: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def patient(own: httpx.Timeout, at_least: float) -> httpx.Timeout:
    """The time-out `own`, with at least `at_least` seconds for the response."""
    read = None if own.read is None else max(own.read, at_least)
    return httpx.Timeout(connect=own.connect, read=read, write=own.write, pool=own.pool)


def rewind(files: dict[str, Any] | None) -> None:
    for part in (files or {}).values():
        handle = part[1] if isinstance(part, tuple) else part
        if hasattr(handle, "seek"):
            handle.seek(0)
