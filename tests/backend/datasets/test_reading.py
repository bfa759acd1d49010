"""Bounds on reading a dataset: bytes of an answer, memory of the API, time of other requests."""

import asyncio
import io
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backend.datasets import reading
from backend.datasets.leakage import compare, report
from backend.processes.pool import ChildDied, Children
from reinforge.errors import InvalidInput
from tests.backend.datasets.test_report import prompts, upload
from tests.backend.server import Backend, wait_until

MIB = 1024**2


def parquet_of(rows: int, size: int) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table({"prompt": ["x" * size] * rows}), file, compression="zstd")
    return file.getvalue()


def test_a_small_file_with_large_rows_makes_no_large_answer(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = parquet_of(40, MIB)
    assert len(content) < 10_000
    made = backend.api.post("/datasets", files={"file": ("large.parquet", content)})
    assert made.status_code == 201, made.text
    monkeypatch.setattr(reading, "iter_rows", None)  # in this process; children have their own

    def page(offset: int) -> dict[str, Any]:
        answer = backend.api.get(
            f"/datasets/{made.json()['id']}/rows", params={"offset": offset, "limit": 200}
        )
        assert answer.status_code == 200, answer.text
        assert len(answer.content) <= reading.ANSWER_BYTES + 1000
        body: dict[str, Any] = answer.json()
        return body

    offset, pages = 0, 0
    while offset < 40:
        body = page(offset)
        assert (body["object"], body["offset"], body["total"]) == ("list", offset, 40)
        assert all(row == {"prompt": "x" * MIB} for row in body["data"])
        offset += len(body["data"])
        pages += 1
    assert pages == 14
    assert page(40)["data"] == []


@pytest.fixture
def stuck(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Reports begin and do not end before the event is set."""
    going_on, read = threading.Event(), report.read_in_process

    async def late(*arguments: Any) -> Any:
        async with asyncio.timeout(20):
            while not going_on.is_set():
                await asyncio.sleep(0.05)
        return await read(*arguments)

    monkeypatch.setattr(report, "read_in_process", late)
    yield going_on
    going_on.set()


def test_reports_of_one_project_are_few_and_end_with_their_clients(
    backend: Backend, stuck: threading.Event
) -> None:
    address = f"/datasets/{upload(backend, prompts('one', 'two', 'three', 'four'))}/report"

    def ask(seed: int, **query: Any) -> httpx.Response:
        return backend.api.get(address, params={"seed": seed, "held_out_rows": 1, "wait": 0} | query)

    assert [ask(seed).status_code for seed in range(report.PROJECT_REPORTS - 1)] == [200] * 7
    with backend.client("rf-test-owner-key", "/api/v1") as impatient, pytest.raises(httpx.ReadTimeout):
        impatient.get(address, params={"seed": 100, "held_out_rows": 1}, timeout=0.3)
    wait_until(lambda: ask(101).status_code == 200, "the report that nobody waits for to end")
    refused = ask(102)
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many_reports")
    assert ask(101).status_code == 200, "the same one again is no further one"
    project = backend.api.post("/projects", json={"name": "beside"}).json()["id"]
    with backend.client("rf-test-owner-key", "/api/v1") as other:
        other.headers["x-reinforge-project"] = project
        content = b'{"prompt": "hi"}\n'
        id = other.post("/datasets", files={"file": ("own.jsonl", content)}).json()["id"]
        assert other.get(f"/datasets/{id}/rows").json()["total"] == 1, "another project has its turn"
    stuck.set()
    wait_until(lambda: ask(101, wait=5).json()["status"] == "ready", "the report")


def test_reports_are_made_in_another_process(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a thread of this one they would take turns with every other request."""
    address = f"/datasets/{upload(backend, prompts('a', 'b', 'c', 'd'), 'apart.jsonl')}/report"
    monkeypatch.setattr(compare, "iter_accepted", None)  # in this process; children have their own
    answer = backend.api.get(address, params={"held_out_rows": 1, "wait": 20})
    assert (answer.status_code, answer.json()["status"]) == (200, "ready")


CALLS_PRINT = "type('Answer', (), {'__reduce__': lambda self: (print, ('taken over',))})()"


def test_the_answer_of_a_child_runs_no_code(capsys: pytest.CaptureFixture[str]) -> None:
    """A child that a file has taken over may answer anything."""

    async def ask() -> None:
        children = Children()
        try:
            with pytest.raises(ChildDied):
                await children.ask(eval, CALLS_PRINT)
            assert await children.ask(eval, "[{'a': {1, 2}}, b'x', 1.5]") == [{"a": {1, 2}}, b"x", 1.5]
            with pytest.raises(InvalidInput, match="wrong"):
                await children.ask(
                    eval, "exec('from reinforge.errors import InvalidInput as e; raise e(\"wrong\")')"
                )
        finally:
            await children.close()

    asyncio.run(ask())
    assert "taken over" not in capsys.readouterr().out
