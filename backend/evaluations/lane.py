"""An evaluation's place among its project's calls."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from reinforge.errors import TooManyRequests

AGAIN_SECONDS = 2.0

T = TypeVar("T")


async def when_there_is_room(ask: Callable[[], Awaitable[T]], within: float | None = None) -> T:
    """What `ask` returns; while the project has as many calls waiting as it may, it is asked again.

    within: seconds; None without end. Raises TooManyRequests after them, and what `ask` raises otherwise.
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
