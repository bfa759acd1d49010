"""Live events as server-sent events: at most two frames a second and job, resumable from any `seq`.

A frame carries every event after the cursor, in order, and the cursor as its id. Events are read from the
table; NOTIFY only says when to look. When a resume has deleted events that a client had seen, its next frame
holds the `rewind`.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import orjson

from backend import sse
from backend.database import Database
from backend.events import Hub
from backend.jobs import event_rows
from backend.jobs.event_rows import OneEvent
from backend.models import Job
from reinforge.errors import InvalidInput
from reinforge.states import FINAL

MIN_SECONDS_BETWEEN_FRAMES = 0.5
KEEP_ALIVE_SECONDS = 15.0
MAX_EVENTS_PER_FRAME = 2000
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


def event_view(event: OneEvent) -> dict[str, Any]:
    """The shape of `schemas.jobs.JobEvent`."""
    return {"seq": event.seq, "job": event.job_id, "type": event.type, "data": event.data}


def frame(job_id: str, events: list[dict[str, Any]]) -> bytes:
    seq = events[-1]["seq"]
    data = orjson.dumps({"seq": seq, "events": events})
    return b"id: %s:%d\nevent: batch\n%s" % (job_id.encode(), seq, sse.frame(data))


async def frames(database: Database, hub: Hub, job_id: str, after: int) -> AsyncIterator[bytes]:
    """Frames for as long as the job can change; ends after the last one of a finished job."""
    position = after
    with hub.subscribe(f"job:{job_id}") as changed:
        yield b"retry: 1000\n\n"
        while True:
            async with database.transaction() as session:
                # The job first: events that come after this read are found by the next round.
                job = await session.get_one(Job, job_id)
                found = await event_rows.after(session, job_id, position, MAX_EVENTS_PER_FRAME)
                events = [event_view(event) for event in found]
            if events:
                position = events[-1]["seq"]
                yield frame(job_id, events)
                await asyncio.sleep(MIN_SECONDS_BETWEEN_FRAMES)
            elif job.status in FINAL:
                return
            elif not await changed.wait(KEEP_ALIVE_SECONDS):
                yield b": keep-alive\n\n"
