"""Frames of a job's live events, read and encoded once per process for all its viewers.

A frame has at most `MAX_EVENTS_PER_FRAME` events.
"""

import asyncio
import contextlib
import time
from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

import orjson
from fastapi import Depends, Request
from sqlalchemy import select

from backend.data.database import Database
from backend.data.events import Hub, Subscription
from backend.http import sse
from backend.jobs.monitoring import event_store
from backend.jobs.monitoring.event_store import OneEvent
from backend.models import Job
from reinforge.states import FINAL

MAX_EVENTS_PER_FRAME = 2000
SHARED_SECONDS = 1.0


class Next(NamedTuple):
    frame: bytes | None
    seq: int
    over: bool = False


class WatchedJob:
    def __init__(
        self, database: Database, job_id: str, subscribe: contextlib.AbstractContextManager[Subscription]
    ) -> None:
        self._database, self._job_id = database, job_id
        self._open = contextlib.ExitStack()
        self._notified = self._open.enter_context(subscribe)
        self.viewers = 0
        self._lock = asyncio.Lock()
        self._reads: dict[int, asyncio.Task[Next]] = {}
        self._frames: dict[int, tuple[Next, float]] = {}
        self._nothing: tuple[Next, int, float] | None = None

    def close(self) -> None:
        self._open.close()

    async def after(self, seq: int) -> Next:
        """The frame after `seq`. A viewer that disconnects does not cancel the read: cancelling a statement
        closes its connection to the database.
        """
        while (following := self._shared(seq)) is None:
            read, begins = self._reads.get(seq), False
            # Waiting for a read that has ended would not yield: this loop would hold up the whole process.
            if read is None or read.done():
                begins = True
                read = self._reads[seq] = asyncio.create_task(self._read_in_turn(seq))
                read.add_done_callback(lambda read: self._finished(seq, read))
            following = await asyncio.shield(read)
            if begins or following.frame is not None:
                break  # else an event may have come after that read began
        return following

    def _finished(self, seq: int, read: asyncio.Task[Next]) -> None:
        if self._reads.get(seq) is read:
            del self._reads[seq]
        if not read.cancelled():
            read.exception()  # all its viewers may have left

    async def _read_in_turn(self, seq: int) -> Next:
        async with self._lock:
            return self._shared(seq) or await self._read(seq)

    def _shared(self, seq: int) -> Next | None:
        oldest = time.monotonic() - SHARED_SECONDS
        self._frames = {key: frame for key, frame in self._frames.items() if frame[1] > oldest}
        if seq in self._frames:
            return self._frames[seq][0]
        shared, count, read_at = self._nothing or (None, 0, 0.0)
        holds = (
            shared is not None and shared.seq == seq and count == self._notified.count and read_at > oldest
        )
        return shared if holds else None

    async def _read(self, seq: int) -> Next:
        count = self._notified.count
        async with self._database.transaction() as session:
            events = await event_store.after(session, self._job_id, seq, MAX_EVENTS_PER_FRAME)
            if not events:
                # A newer event has also increased the job's seq.
                query = select(Job.status, Job.seq).where(Job.id == self._job_id)
                job = (await session.execute(query)).one_or_none()
                following = Next(None, seq, job is None or (job.status in FINAL and job.seq <= seq))
                self._nothing = (following, count, time.monotonic())
                return following
        if any(event.type == "rewind" for event in events):
            self._frames.clear()  # these frames hold deleted events
        following = Next(_frame(self._job_id, events), events[-1].seq)
        self._frames[seq] = (following, time.monotonic())
        return following


class LiveJobs:
    def __init__(self, database: Database, hub: Hub) -> None:
        self._database, self._hub = database, hub
        self._watched: dict[str, WatchedJob] = {}

    @contextlib.contextmanager
    def watch(self, job_id: str) -> Iterator[tuple[WatchedJob, Subscription]]:
        topic = f"job:{job_id}"
        with self._hub.subscribe(topic) as changed:
            if job_id not in self._watched:
                self._watched[job_id] = WatchedJob(self._database, job_id, self._hub.subscribe(topic))
            job = self._watched[job_id]
            job.viewers += 1
            try:
                yield job, changed
            finally:
                job.viewers -= 1
                if job.viewers == 0:
                    self._watched.pop(job_id).close()


def event_view(event: OneEvent) -> dict[str, Any]:
    return {"seq": event.seq, "job": event.job_id, "type": event.type, "data": event.data}


def _frame(job_id: str, events: list[OneEvent]) -> bytes:
    seq = events[-1].seq
    data = orjson.dumps({"seq": seq, "events": [event_view(event) for event in events]})
    return b"id: %s:%d\nevent: batch\n%s" % (job_id.encode(), seq, sse.frame(data))


async def get_live_jobs(request: Request) -> LiveJobs:
    live: LiveJobs = request.app.state.live_jobs
    return live


LiveJobsDep = Annotated[LiveJobs, Depends(get_live_jobs)]
