"""Server-sent events of a job: at most two frames per second, resumable from any `seq`."""

import asyncio
import re
from collections.abc import AsyncIterator

from backend.jobs.monitoring.live_frames import LiveJobs
from reinforge.errors import InvalidInput

MIN_SECONDS_BETWEEN_FRAMES = 0.5
KEEP_ALIVE_SECONDS = 15.0
_LAST_EVENT_ID = re.compile(r"^(?:(?P<job>[A-Za-z0-9_-]{1,100}):)?(?P<seq>\d{1,18})$")


def cursor(job_id: str, last_event_id: str | None, after: int) -> int:
    """Start position from `Last-Event-ID` (`ftjob-…:SEQ`), else `after`. Raises InvalidInput for a
    malformed id, or one of another job.
    """
    if not last_event_id:
        return after
    match = _LAST_EVENT_ID.match(last_event_id.strip())
    if match is None or match["job"] not in (None, job_id):
        raise InvalidInput(
            "Last-Event-ID is not an id of this stream.",
            code="invalid_last_event_id",
            hint="Leave it out to start from `after`.",
        )
    return int(match["seq"])


async def frames(live: LiveJobs, job_id: str, after: int) -> AsyncIterator[bytes]:
    position = after
    with live.watch(job_id) as (job, changed):
        yield b"retry: 1000\n\n"
        while True:
            following = await job.after(position)
            if following.frame is not None:
                position = following.seq
                yield following.frame
                await asyncio.sleep(MIN_SECONDS_BETWEEN_FRAMES)
            elif following.over:
                return
            elif not await changed.wait(KEEP_ALIVE_SECONDS):
                yield b": keep-alive\n\n"
