"""Retry of an evaluation's RPCs while its project has too many."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from reinforge.errors import TooManyRequests

AGAIN_SECONDS = 2.0

T = TypeVar("T")


async def retry_while_busy(ask: Callable[[], Awaitable[T]], within: float | None = None) -> T:
    """The result of `ask`, retried while the project has its maximum of waiting RPCs.

    within: seconds; None: no limit. Raises TooManyRequests after them, and any other error of `ask`.
    """
    began = time.monotonic()
    while True:
        try:
            return await ask()
        except TooManyRequests as error:
            late = within is not None and time.monotonic() - began > within
            if late or error.code != "too_many_calls":
                raise
            await asyncio.sleep(AGAIN_SECONDS)
