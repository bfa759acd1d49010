"""Live events as server-sent events: at most two frames a second and job, resumable from any `seq`.

A frame carries every event after the cursor, in order, and the cursor as its id. Events are read from the
table; NOTIFY only says when to look. When a resume has deleted events that a client had seen, its next frame
holds the `rewind`.
"""

import asyncio
import re
from collections.abc import AsyncIterator

from backend.jobs.monitoring.live_frames import LiveJobs
from reinforge.errors import InvalidInput

MIN_SECONDS_BETWEEN_FRAMES = 0.5
KEEP_ALIVE_SECONDS = 15.0
_LAST_EVENT_ID = re.compile(r"^(?:(?P<job>[A-Za-z0-9_-]{1,100}):)?(?P<seq>\d{1,18})$")


def cursor(job_id: str, last_event_id: str | None, after: int) -> int:
    """Where to go on: `Last-Event-ID` (`ftjob-…:SEQ`) wins over `?after=`. Raises InvalidInput."""
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
    """Frames for as long as the job can change; ends after the last one of a finished job."""
    position = after
    with live.watch(job_id) as (job, changed):
        yield b"retry: 1000\n\n"
        while True:
            found = await job.after(position)
            if found.frame is not None:
                position = found.seq
                yield found.frame
                await asyncio.sleep(MIN_SECONDS_BETWEEN_FRAMES)
            elif found.over:
                return
            elif not await changed.wait(KEEP_ALIVE_SECONDS):
                yield b": keep-alive\n\n"
