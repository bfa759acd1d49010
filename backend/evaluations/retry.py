"""Retries RPCs while workers are busy or offline."""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tenacity import (
    AsyncRetrying,
    before_sleep_log,
    retry_if_exception,
    retry_if_exception_type,
    stop_after_attempt,
    stop_after_delay,
    stop_never,
    wait_exponential,
    wait_fixed,
)

from reinforge.errors import TooManyRequests, Unavailable

log = logging.getLogger(__name__)

AGAIN_SECONDS = 2.0
TRIES = 5
FIRST_PAUSE_SECONDS = 2.0

T = TypeVar("T")


async def retry_while_busy(ask: Callable[[], Awaitable[T]], within: float | None = None) -> T:
    """Retry `ask` while the project has its maximum of waiting RPCs; after `within` seconds, raises
    TooManyRequests.
    """
    retrying = AsyncRetrying(
        retry=retry_if_exception(_is_busy),
        stop=stop_never if within is None else stop_after_delay(within),
        wait=wait_fixed(AGAIN_SECONDS),
        reraise=True,
    )

    async def run() -> T:  # tenacity awaits coroutine functions only, and `ask` is often a partial
        return await ask()

    return await retrying(run)


async def retry_while_offline(ask: Callable[[], Awaitable[T]]) -> T:
    """Like `retry_while_busy`; if no worker is online, `ask` is tried up to `TRIES` times."""
    retrying = AsyncRetrying(
        retry=retry_if_exception_type(Unavailable),
        stop=stop_after_attempt(TRIES),
        wait=wait_exponential(FIRST_PAUSE_SECONDS),
        before_sleep=before_sleep_log(log, logging.INFO),
        reraise=True,
    )
    return await retrying(retry_while_busy, ask)


def _is_busy(error: BaseException) -> bool:
    return isinstance(error, TooManyRequests) and error.code == "too_many_calls"
