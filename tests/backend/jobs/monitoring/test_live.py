"""Live events shared by the viewers of a job: each is read once and reaches every viewer."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
from sqlalchemy import event, text
from sqlalchemy.ext.asyncio import AsyncSession

from backend.data.database import Database
from backend.data.events import Hub
from backend.jobs.monitoring import event_store, live_frames
from backend.jobs.monitoring.event_store import OneEvent
from backend.jobs.monitoring.live_frames import LiveJobs
from tests.backend.server import Backend

pytestmark = pytest.mark.usefixtures("rpc_backend")


class Counting(Database):
    """A database that counts the transactions of those who watch."""

    transactions = 0

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        self.transactions += 1
        async with super().transaction() as session:
            yield session


Watch = Callable[[LiveJobs, Counting], Coroutine[Any, Any, None]]


def run(backend: Backend, watch: Watch) -> None:
    async def whole() -> None:
        database = Counting(backend.database_url, pool_size=2)
        hub = Hub(database.conninfo)
        await hub.start()
        try:
            await watch(LiveJobs(database, hub), database)
        finally:
            await hub.stop()
            await database.close()

    asyncio.run(whole())


def events(frame: bytes | None) -> list[dict[str, Any]]:
    assert frame is not None
    [data] = [line[6:] for line in frame.splitlines() if line.startswith(b"data: ")]
    listed: list[dict[str, Any]] = json.loads(data)["events"]
    return listed


def test_an_event_is_read_once_for_all_who_watch(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    job = backend.create_job()
    monkeypatch.setattr(live_frames, "SHARED_SECONDS", 60.0)

    async def watch(jobs: LiveJobs, database: Counting) -> None:
        with jobs.watch(job) as (watched, changed):
            frames = await asyncio.gather(*(watched.after(0) for _ in range(20)))
            assert (len(set(frames)), database.transactions) == (1, 1)
            last = frames[0].seq
            nothing = await asyncio.gather(*(watched.after(last) for _ in range(20)))
            assert {batch.frame for batch in nothing} == {None}
            assert database.transactions == 2
            await asyncio.to_thread(backend.api.post, f"/jobs/{job}/cancel")
            assert await changed.wait(10)
            ends = await asyncio.gather(*(watched.after(last) for _ in range(20)))
            assert (len(set(ends)), database.transactions) == (1, 3)
            assert events(ends[0].frame)[-1]["data"]["status"] == "cancelled"
            assert (await watched.after(last), database.transactions) == (ends[0], 3), "one that comes late"
            assert (await watched.after(ends[0].seq)).over

    run(backend, watch)


def test_viewers_who_hang_up_close_no_connection_to_the_database(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = backend.create_job()
    reads = 0
    after = event_store.after

    async def slow(session: AsyncSession, *arguments: Any) -> list[OneEvent]:
        nonlocal reads
        reads += 1
        await session.execute(text("SELECT pg_sleep(0.2)"))
        return await after(session, *arguments)

    monkeypatch.setattr(event_store, "after", slow)

    async def watch(jobs: LiveJobs, database: Counting) -> None:
        closed: list[object] = []
        event.listen(database.engine.sync_engine, "close", lambda *connection: closed.append(connection))
        with jobs.watch(job) as (watched, _):
            viewers = [asyncio.create_task(watched.after(0)) for _ in range(20)]
            await asyncio.sleep(0.05)
            for viewer in viewers[:-1]:
                viewer.cancel()
            assert events((await viewers[-1]).frame)
            late = asyncio.create_task(watched.after(10**6))
            await asyncio.sleep(0.05)
            late.cancel()
            assert (await watched.after(10**6)).frame is None, "the read of the one who left is finished"
        assert (reads, closed) == (2, [])

    run(backend, watch)


def test_an_event_that_comes_during_a_read_is_not_missed(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who joins a read that began before the event came reads again."""
    job = backend.create_job()
    after = event_store.after

    async def slow(session: AsyncSession, *arguments: Any) -> list[OneEvent]:
        stored = await after(session, *arguments)
        await asyncio.sleep(0.5)
        return stored

    async def watch(jobs: LiveJobs, database: Counting) -> None:
        with jobs.watch(job) as (watched, changed):
            last = (await watched.after(0)).seq
            monkeypatch.setattr(event_store, "after", slow)
            early = asyncio.create_task(watched.after(last))
            await asyncio.sleep(0.2)
            await asyncio.to_thread(backend.api.post, f"/jobs/{job}/cancel")
            assert await changed.wait(10)
            assert events((await watched.after(last)).frame)
            await early

    run(backend, watch)


def test_nothing_yet_is_not_believed_for_long(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """A notification that got lost costs a moment, not the event."""
    job = backend.create_job()
    monkeypatch.setattr(live_frames, "SHARED_SECONDS", 0.05)

    async def watch(jobs: LiveJobs, database: Counting) -> None:
        with jobs.watch(job) as (watched, _):
            last = (await watched.after(0)).seq
            assert (await watched.after(last)).frame is None
            backend.sql(
                "INSERT INTO event (job_id, seq, type, data, ts, count) VALUES (%s, %s, 'log', '{}', now(), 1)",
                job,
                last + 1,
            )
            backend.sql("UPDATE job SET seq = seq + 1 WHERE id = %s", job)
            await asyncio.sleep(0.06)
            assert (await watched.after(last)).seq == last + 1

    run(backend, watch)


def test_a_job_that_ended_between_two_looks_is_not_over_before_its_last_event(backend: Backend) -> None:
    job = backend.create_job()

    async def watch(jobs: LiveJobs, database: Counting) -> None:
        with jobs.watch(job) as (watched, _):
            last = (await watched.after(0)).seq
            backend.sql("UPDATE job SET seq = seq + 1, status = 'cancelled' WHERE id = %s", job)
            assert not (await watched.after(last)).over
            assert (await watched.after(last + 1)).over

    run(backend, watch)


def test_frames_of_events_that_a_resume_deleted_are_forgotten(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_frames, "SHARED_SECONDS", 60.0)
    job = backend.create_job(limits={"steps": 9})
    trainer = backend.claim(job)
    trainer.start(0, 9)
    trainer.resume_state(0)

    async def watch(jobs: LiveJobs, database: Counting) -> None:
        with jobs.watch(job) as (watched, _):
            start = (await watched.after(0)).seq
            await asyncio.to_thread(trainer.step, 1)
            first = await watched.after(start)
            assert events(first.frame)[-1]["data"]["step"] == 1
            backend.sql("UPDATE job SET lease_until = now() - interval '1 s' WHERE id = %s", job)
            await asyncio.to_thread(backend.sweep)
            await asyncio.to_thread(backend.claim, job)
            sent = events((await watched.after(first.seq)).frame)
            assert "rewind" in [event["type"] for event in sent]
            again = events((await watched.after(start)).frame)
            assert not [event for event in again if event["type"] == "metrics"]

    run(backend, watch)


def test_a_viewer_that_comes_as_a_read_ends_starts_another_one(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An event came after that read began, so it says nothing: waiting for it again would never yield."""
    job = backend.create_job()

    async def watch(jobs: LiveJobs, database: Counting) -> None:
        with jobs.watch(job) as (watched, _):
            last = (await watched.after(0)).seq
            ended = asyncio.get_running_loop().create_future()
            read, shared, looks = watched._read, watched._shared, 0

            async def notified_meanwhile(seq: int) -> live_frames.Next:
                following = await read(seq)
                if not ended.done():
                    watched._notified.set()
                    ended.set_result(None)  # its waiter runs before what the end of this read calls
                return following

            def counted(seq: int) -> live_frames.Next | None:
                nonlocal looks
                looks += 1
                assert looks < 100, "it looks for a frame again and again"
                return shared(seq)

            async def late() -> live_frames.Next:
                await ended
                return await watched.after(last)

            monkeypatch.setattr(watched, "_read", notified_meanwhile)
            monkeypatch.setattr(watched, "_shared", counted)
            second = asyncio.create_task(late())
            await asyncio.sleep(0)
            before = database.transactions
            assert [(await watched.after(last)).frame, (await second).frame] == [None, None]
            assert database.transactions == before + 2

    run(backend, watch)


def test_a_late_client_gets_all_events_at_once(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two frames a second are as many as a job makes: by the others' frames nobody would ever catch up."""
    job = backend.create_job()
    trainer = backend.claim(job)
    trainer.start()
    monkeypatch.setattr(live_frames, "SHARED_SECONDS", 0.05)

    async def watch(jobs: LiveJobs, database: Counting) -> None:
        with jobs.watch(job) as (watched, _):
            first = last = await watched.after(0)
            for step in (1, 2):
                await asyncio.to_thread(trainer.step, step)
                last = await watched.after(last.seq)
            await asyncio.sleep(0.06)
            late = await watched.after(0)
            assert late.seq == last.seq > first.seq
            assert [event["seq"] for event in events(late.frame)] == list(range(1, last.seq + 1))

    run(backend, watch)


def test_a_job_is_let_go_with_its_last_viewer_and_one_that_is_gone_is_over(backend: Backend) -> None:
    async def watch(jobs: LiveJobs, database: Counting) -> None:
        with jobs.watch("ftjob-gone") as (first, _):
            with jobs.watch("ftjob-gone") as (second, _):
                assert first is second
            assert (await first.after(0)).over
        with jobs.watch("ftjob-gone") as (third, _):
            assert third is not first

    run(backend, watch)
