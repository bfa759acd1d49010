"""The live stream: every event once, in order, however records arrive and however often the client comes back."""

import json
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from httpx_sse import ServerSentEvent, connect_sse

from tests.backend.server import DEADLINE, OWNER_KEY, Backend, Trainer

pytestmark = pytest.mark.usefixtures("rpc_backend")

COMMIT_DELAY = """
CREATE FUNCTION slow_commit() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_sleep(random() * 0.03); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER slow_commit AFTER UPDATE ON job DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION slow_commit();
"""


@pytest.fixture
def slow_commits(backend: Backend) -> Iterator[None]:
    """Every transaction that moves a job takes up to 30 ms to commit, after all its statements."""
    for statement in COMMIT_DELAY.strip().split(";\nCREATE CONSTRAINT"):
        prefix = "" if statement.startswith("CREATE") else "CREATE CONSTRAINT"
        backend.sql(prefix + statement)
    yield
    backend.sql("DROP FUNCTION slow_commit CASCADE")


def stored_events(backend: Backend, job: str) -> list[dict[str, Any]]:
    rows = backend.sql("SELECT seq, type, data FROM event WHERE job_id = %s ORDER BY seq", job)
    return [{"seq": seq, "job": job, "type": type, "data": data} for seq, type, data in rows]


def frames(
    backend: Backend, job: str, *, last: str | None = None, after: int = 0
) -> Iterator[ServerSentEvent]:
    headers = {"authorization": f"Bearer {OWNER_KEY}"} | ({"last-event-id": last} if last else {})
    with (
        httpx.Client(base_url=backend.url, timeout=DEADLINE) as client,
        connect_sse(
            client, "GET", f"/api/v1/jobs/{job}/stream", params={"after": after}, headers=headers
        ) as source,
    ):
        assert source.response.status_code in (200, 204)
        yield from source.iter_sse()


def is_final(event: dict[str, Any]) -> bool:
    return event["type"] == "status" and event["data"]["status"] in ("succeeded", "failed", "cancelled")


def watch(backend: Backend, job: str, events: list[dict[str, Any]], seed: int) -> None:
    """A client whose connection breaks after one to three frames, until the job has ended."""
    chance = random.Random(seed)
    last: str | None = None
    while not (events and is_final(events[-1])):
        left = chance.randint(1, 3)
        for frame in frames(backend, job, last=last):
            if frame.event != "batch":
                continue
            body = json.loads(frame.data)
            events.extend(body["events"])
            assert frame.id == f"{job}:{body['seq']}"
            last, left = frame.id, left - 1
            if left == 0:
                break


def ingest(trainer: Trainer, records: list[dict[str, Any]], seed: int, stored: list[int]) -> None:
    """Send overlapping batches from about where the backend is, as a worker with several connections might."""
    chance = random.Random(seed)
    with httpx.Client(base_url=trainer.client.base_url, headers=trainer.client.headers, timeout=30) as client:
        while stored[0] < len(records):
            start = max(0, stored[0] + chance.randint(-2, 1))
            body = {"attempt": trainer.attempt, "records": records[start : start + chance.randint(1, 5)]}
            response = client.post("/records", json=body)
            if response.status_code == 200:
                stored[0] = max(stored[0], response.json()["acknowledged"])
            else:
                assert response.json()["error"]["code"] == "sequence_gap", response.text


@pytest.mark.usefixtures("slow_commits")
def test_frames_are_the_database_with_four_ingesting_connections(backend: Backend) -> None:
    job = backend.create_job(limits={"steps": 40})
    trainer = backend.claim(job)
    records = trainer.number(
        {"kind": "started", "step": 0, "steps": 40},
        *[
            record
            for step in range(1, 41)
            for record in (
                {"kind": "phase", "phase": "generating", "step": step},
                {"kind": "step_metrics", "step": step, "values": {"reward/mean": step / 40}},
                {"kind": "log", "level": "info", "message": f"step {step}"},
            )
        ],
    )
    watchers: list[list[dict[str, Any]]] = [[], []]
    watching = [
        threading.Thread(target=watch, args=(backend, job, events, seed), daemon=True)
        for seed, events in enumerate(watchers)
    ]
    stored = [0]
    for thread in watching:
        thread.start()
    with ThreadPoolExecutor(4) as pool:
        ingesting = [pool.submit(ingest, trainer, records, seed, stored) for seed in range(4)]
    for future in ingesting:
        future.result()
    assert stored == [len(records)]
    trainer.end("failed", reason="enough", message="Enough.")
    for thread in watching:
        thread.join(60)
    expected = stored_events(backend, job)
    assert sum(event["type"] == "metrics" for event in expected) == 40
    for events in watchers:
        assert events == expected


def test_there_are_at_most_two_frames_a_second(backend: Backend) -> None:
    job = backend.create_job()
    trainer = backend.claim(job)
    arrived: list[int] = []

    def collect() -> None:
        for frame in frames(backend, job):
            if frame.event == "batch":
                arrived.append(len(json.loads(frame.data)["events"]))

    began = time.monotonic()
    thread = threading.Thread(target=collect, daemon=True)
    thread.start()
    for number in range(20):
        trainer.send({"kind": "log", "level": "info", "message": str(number)})
    trainer.end("failed", reason="enough", message="Enough.")
    thread.join(DEADLINE)
    seconds = time.monotonic() - began  # at least as long as the server took
    assert len(arrived) <= 2 * seconds + 1
    assert sum(arrived) == len(stored_events(backend, job))


def test_a_client_that_missed_a_resume_gets_a_rewind(backend: Backend) -> None:
    job = backend.create_job(limits={"steps": 9})
    trainer = backend.claim(job)
    trainer.start(0, 9)
    trainer.step(1)
    trainer.resume_state(1)
    trainer.step(2)
    cursor = stored_events(backend, job)[-1]["seq"]
    backend.sql("UPDATE job SET lease_until = now() - interval '1 s' WHERE id = %s", job)
    backend.sweep()
    backend.claim(job)
    frame = next(item for item in frames(backend, job, last=f"{job}:{cursor}") if item.event == "batch")
    events = json.loads(frame.data)["events"]
    assert [event["type"] for event in events] == ["status", "rewind", "status"]
    assert events[1]["data"] == {"to_step": 1}


def test_metrics_and_stream_fit_together(backend: Backend) -> None:
    """The page loads the points and streams on from `seq`: no point twice, none left out."""
    job = backend.create_job()
    trainer = backend.claim(job)
    trainer.start()
    trainer.step(1)
    loaded = backend.api.get(f"/jobs/{job}/metrics").json()
    trainer.step(2)
    frame = next(item for item in frames(backend, job, after=loaded["seq"]) if item.event == "batch")
    events = json.loads(frame.data)["events"]
    assert [(event["type"], event["data"]["step"]) for event in events] == [("metrics", 2)]
    assert max(step for series in loaded["series"] for step in series["steps"]) == 1


def test_the_stream_of_a_finished_job_ends(backend: Backend) -> None:
    job = backend.create_job()
    backend.api.post(f"/jobs/{job}/cancel")
    batches = [json.loads(frame.data) for frame in frames(backend, job) if frame.event == "batch"]
    assert is_final(batches[-1]["events"][-1])
    nothing = backend.api.get(f"/jobs/{job}/stream", headers={"last-event-id": f"{job}:{batches[-1]['seq']}"})
    assert nothing.status_code == 204


@pytest.mark.parametrize("cursor", ["ftjob-other:3", "x", "-1", "9" * 30])
def test_a_strange_cursor_is_refused(backend: Backend, cursor: str) -> None:
    job = backend.create_job()
    refused = backend.api.get(f"/jobs/{job}/stream", headers={"last-event-id": cursor})
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "invalid_last_event_id")


def test_the_stream_goes_on_after_the_listening_connection_broke(backend: Backend) -> None:
    job = backend.create_job()
    trainer = backend.claim(job)
    events: list[dict[str, Any]] = []
    watcher = threading.Thread(target=watch, args=(backend, job, events, 5), daemon=True)
    watcher.start()
    backend.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%%'")
    trainer.start()
    trainer.end("failed", reason="enough", message="Enough.")
    watcher.join(DEADLINE)
    assert events == stored_events(backend, job)
