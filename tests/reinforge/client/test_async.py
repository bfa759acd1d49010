"""The client for asyncio: the same methods, the same requests, the same patience."""

import asyncio
import inspect
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from reinforge.client import AsyncReinforge, Reinforge
from reinforge.errors import NotFound
from tests.support.stub_server import Answer, StubServer

ROOT = Path(__file__).resolve().parents[3]
NOW = "2026-01-02T03:04:05Z"
REWARD = {
    "id": "rew_1", "name": "r", "description": None, "revision": 1, "entry": None, "granularity": "sample",
    "created_at": NOW, "updated_at": NOW, "revisions": [],
}  # fmt: skip
JOB = {
    "id": "ftjob-1", "name": "adds", "project": "p", "status": "succeeded", "attempt": 1, "model": "m",
    "dataset": "file-1", "reward_names": ["r"], "created_at": NOW, "spec": {},
    "progress": {"step": 3, "steps": 3, "percent": 100.0},
}  # fmt: skip


@pytest.fixture
def stub() -> Iterator[StubServer]:
    server = StubServer()
    yield server
    server.close()


def resources(client: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(client).items() if name not in ("transport",)}


def methods(thing: Any) -> dict[str, Any]:
    return {
        name: member for name, member in inspect.getmembers(type(thing), inspect.isfunction) if name[0] != "_"
    }


def test_both_have_the_same_resources_and_methods() -> None:
    plain, twin = Reinforge("http://127.0.0.1:9"), AsyncReinforge("http://127.0.0.1:9")
    pairs = {"": (plain, twin)} | {
        name: (resource, resources(twin)[name]) for name, resource in resources(plain).items()
    }
    assert resources(plain).keys() == resources(twin).keys()
    assert len(pairs) > 8
    for name, (one, other) in pairs.items():
        assert type(other).__name__ == f"Async{type(one).__name__}"
        assert methods(one).keys() == methods(other).keys(), name
        for method, function in methods(one).items():
            there = methods(other)[method]
            same = [
                list(inspect.signature(signature_of).parameters.values())
                for signature_of in (function, there)
            ]
            assert same[0] == same[1], (name, method)
            waits = inspect.iscoroutinefunction(there) or inspect.isasyncgenfunction(there)
            iterates = "AsyncIterator" in str(inspect.signature(there).return_annotation)
            assert waits or iterates, (name, method)
    asyncio.run(twin.close())
    plain.close()


def test_it_is_what_the_script_makes_of_the_other() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/sync_client.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def script(stub: StubServer) -> None:
    page = {"data": [JOB], "has_more": True, "next_cursor": "c"}
    stub.on("GET", "/jobs", Answer(body=page), Answer(body={"data": [JOB]}))
    stub.on("GET", "/jobs/ftjob-1", Answer(503), Answer(drop=True), Answer(body=JOB))
    stub.on("POST", "/jobs/ftjob-1/cancel", Answer(429, {}, {"retry-after": "0"}), Answer(body=JOB))
    stub.on("POST", "/rewards", Answer(body=REWARD))
    stub.on("GET", "/rewards", Answer(body={"data": []}))
    stub.on("GET", "/adapters/adp_1/download", Answer(body=b"archive", headers={"x": "y"}))
    stub.on("DELETE", "/datasets/file-1", Answer(204, b""))
    stream = b'id: 1\nevent: batch\ndata: {"events": [{"seq": 1, "job": "ftjob-1", "type": "status", "at": "%s", "data": {"status": "succeeded"}}]}\n\n'  # noqa: E501
    stub.on(
        "GET", "/jobs/ftjob-1/stream",
        Answer(body=stream % NOW.encode(), headers={"content-type": "text/event-stream"}),
    )  # fmt: skip
    stub.on("GET", "/jobs/ftjob-1/events", Answer(body={"data": []}))


def everything(client: Reinforge, to: Path) -> list[Any]:
    return [
        [job.id for job in client.jobs.list(status="succeeded")],
        client.jobs.wait("ftjob-1", poll=0.01).status,
        client.jobs.cancel("ftjob-1").id,
        client.rewards.push(source="def grade(sample, item): return 1.0", name="r").id,
        client.adapters.download("adp_1", to / "plain.tar.gz").read_bytes(),
        client.datasets.delete("file-1"),
        [event.seq for event in client.jobs.stream("ftjob-1")],
    ]


async def everything_async(client: AsyncReinforge, to: Path) -> list[Any]:
    return [
        [job.id async for job in client.jobs.list(status="succeeded")],
        (await client.jobs.wait("ftjob-1", poll=0.01)).status,
        (await client.jobs.cancel("ftjob-1")).id,
        (await client.rewards.push(source="def grade(sample, item): return 1.0", name="r")).id,
        (await client.adapters.download("adp_1", to / "async.tar.gz")).read_bytes(),
        await client.datasets.delete("file-1"),
        [event.seq async for event in client.jobs.stream("ftjob-1")],
    ]


def requests(stub: StubServer) -> list[tuple[str, str, str, bytes]]:
    recorded = [(request.method, request.path, request.query, request.body) for request in stub.requests]
    stub.requests.clear()
    return recorded


def keys(stub: StubServer) -> list[str | None]:
    return [request.headers.get("idempotency-key") for request in stub.requests if request.method == "POST"]


def test_both_send_the_same_requests_and_find_the_same(stub: StubServer, tmp_path: Path) -> None:
    script(stub)
    with Reinforge(stub.url, "rf-x", retries=3) as client:
        results = everything(client, tmp_path)
    sent = requests(stub)
    script(stub)

    async def run() -> list[Any]:
        async with AsyncReinforge(stub.url, "rf-x", retries=3) as client:
            return await everything_async(client, tmp_path)

    assert asyncio.run(run()) == results
    # A POST that is tried again keeps its key, so that it is done once.
    first, again, _ = keys(stub)
    assert first is not None
    assert first == again
    assert requests(stub) == sent


def test_errors_are_the_same_classes(stub: StubServer) -> None:
    async def ask() -> None:
        async with AsyncReinforge(stub.url, "rf-x") as client:
            await client.jobs.get("ftjob-none")

    with pytest.raises(NotFound):
        asyncio.run(ask())


def test_many_wait_at_the_same_time(stub: StubServer) -> None:
    for number in range(8):
        stub.on("GET", f"/jobs/ftjob-{number}", Answer(body=JOB | {"id": f"ftjob-{number}"}, delay=0.2))

    async def ask() -> list[str]:
        async with AsyncReinforge(stub.url, "rf-x") as client:
            jobs = await asyncio.gather(*(client.jobs.get(f"ftjob-{number}") for number in range(8)))
            return [job.id for job in jobs]

    assert asyncio.run(ask()) == [f"ftjob-{number}" for number in range(8)]


def test_an_iterator_asks_for_no_more_than_is_taken(stub: StubServer) -> None:
    stub.on("GET", "/jobs", Answer(body={"data": [JOB], "has_more": True, "next_cursor": "c"}))

    async def first() -> str:
        async with AsyncReinforge(stub.url, "rf-x") as client:
            jobs: AsyncIterator[Any] = client.jobs.list()
            return str((await anext(jobs)).id)

    assert asyncio.run(first()) == "ftjob-1"
    assert len(stub.requests) == 1
