"""People with much to do, whom no limit may hurt."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import large_upload
import pytest
from fastapi import Request

from backend.access import admission
from backend.access.admission import Body
from backend.access.body_limits import FILE, limit_of
from backend.datasets.uploads import inspection, numbered_parts
from backend.datasets.uploads.inspection_child import CPU_SECONDS
from backend.openai.files import upload_store
from backend.settings import Settings
from reinforge.client.shared import complete_seconds
from reinforge.dataset.limits import DatasetLimits, inspection_seconds
from reinforge.errors import RequestTooSlow
from tests.backend.server import OWNER_KEY, Backend

STREAMS = 300
MB = 1_000_000
LARGEST = Settings(_env_file=None).upload_limit_bytes
LINE = 10 * MB
"""Bytes per second of an ordinary line."""


def test_one_key_reads_300_streams_at_once(rpc_backend: Backend) -> None:
    """All are open together, each gets the next event of the job, and other requests are still answered."""
    backend, job = rpc_backend, rpc_backend.create_job()
    asyncio.run(asyncio.wait_for(read_all(backend, job), 60))


async def read_all(backend: Backend, job: str) -> None:
    host, port = backend.url.removeprefix("http://").split(":")
    head = (
        f"GET /api/v1/jobs/{job}/stream HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {OWNER_KEY}\r\n\r\n"
    ).encode()
    lines = await asyncio.gather(*(asyncio.open_connection(host, int(port)) for _ in range(STREAMS)))
    try:
        for _, writer in lines:
            writer.write(head)
        starts = await asyncio.gather(*(reader.readuntil(b"\r\n\r\n") for reader, _ in lines))
        assert {start.split(b"\r\n")[0] for start in starts} == {b"HTTP/1.1 200 OK"}
        async with httpx.AsyncClient(
            base_url=backend.url, headers={"authorization": f"Bearer {OWNER_KEY}"}, timeout=30
        ) as client:
            answers = await asyncio.gather(*(client.get(f"/api/v1/jobs/{job}") for _ in range(20)))
            assert {answer.status_code for answer in answers} == {200}
            assert (await client.post(f"/api/v1/jobs/{job}/cancel")).status_code == 200
        await asyncio.gather(*(reader.readuntil(b'"cancelled"') for reader, _ in lines))
    finally:
        for _, writer in lines:
            writer.close()


# ── A dataset of 4 GiB: `make proof-upload` sends a real one; here a small one, and the limits ────────────────────────


@pytest.mark.parametrize("way", list(large_upload.WAYS))
def test_what_the_proof_sends_is_a_dataset(
    backend: Backend, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numbered_parts, "PART_BYTES", 256 * 1024)
    monkeypatch.setattr(large_upload, "OPENAI_PART", 256 * 1024)
    path = tmp_path / f"{way[:1].strip('/') or 'v'}.jsonl"
    rows = large_upload.write_rows(path, MB)
    case = dict(
        zip(("rows", "sending", "check"), large_upload.WAYS[way](backend.url, OWNER_KEY, path), strict=True)
    )
    assert case["rows"] == rows > 4000


def test_the_largest_file_has_time_to_be_checked() -> None:
    """20 million rows, the most there may be, take 15 µs each; a machine that is three times as slow is in time."""
    assert inspection_seconds(LARGEST) > 3 * DatasetLimits().max_rows * 15e-6
    assert inspection_seconds(0) >= CPU_SECONDS
    assert complete_seconds(LARGEST) > 2 * inspection_seconds(LARGEST), (
        "the client waits for one before it, too"
    )
    sending = LARGEST / LINE
    assert upload_store.LIFETIME.total_seconds() > 2 * sending
    assert numbered_parts.LIFETIME.total_seconds() > 2 * sending + inspection_seconds(LARGEST)
    assert LARGEST / numbered_parts.PART_BYTES < numbered_parts.MOST_PARTS


def test_a_file_is_checked_with_the_time_of_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    with path.open("wb") as file:
        file.truncate(LARGEST)
    checks: list[Any] = []

    async def run(module: str, *arguments: str, seconds: float) -> tuple[bytes, int]:
        checks.append((int(arguments[4]), seconds))
        return b"", 1

    monkeypatch.setattr(inspection, "run_child", run)
    with pytest.raises(Exception, match="too much memory or time"):
        asyncio.run(inspection.inspect_file(path, path.name, LARGEST, project="p"))
    assert checks == [(int(inspection_seconds(LARGEST)), 4 * inspection_seconds(LARGEST))]


class Line:
    """A request's `receive` over a line of so many bytes per second, by a clock that only it moves."""

    def __init__(self, size: int, rate: float, chunk: int = 1 << 20) -> None:
        self.left, self.rate, self.chunk, self.now = size, rate, bytes(chunk), 1000.0

    def monotonic(self) -> float:
        return self.now

    async def receive(self) -> dict[str, Any]:
        await asyncio.sleep(0)
        piece = self.chunk[: min(self.left, len(self.chunk))]
        self.now += len(piece) / self.rate
        self.left -= len(piece)
        return {"type": "http.request", "body": piece, "more_body": self.left > 0}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    yield lambda line: monkeypatch.setattr(admission.time, "monotonic", line.monotonic)


def _request() -> Request:
    return Request({"type": "http", "method": "POST", "headers": [], "state": {}})


def _receive(line: Line, path: str, method: str = "POST") -> float:
    """Reads a whole body by the real limits of its route; returns the least patience that was left."""

    async def read() -> float:
        body, least = Body(line.receive, limit_of(method, path), _request(), None), 1e9
        while line.left:
            least = min(least, body._patience())
            await body()
        return least

    return asyncio.run(read())


@pytest.mark.parametrize(
    ("path", "method", "size"),
    [
        ("/api/v1/datasets", "POST", LARGEST),
        ("/v1/files", "POST", LARGEST),
        ("/api/v1/uploads/u/parts/1", "PUT", numbered_parts.PART_BYTES),
        ("/v1/uploads/u/parts", "POST", upload_store.PART_BYTES),
    ],
)
@pytest.mark.parametrize("rate", [LINE, 64 * 1024])
def test_no_file_is_cut_by_the_limits_of_pace(
    clock: Any, path: str, method: str, size: int, rate: float
) -> None:
    assert limit_of(method, path) == FILE
    line = Line(min(size, 1 << 30 if rate == LINE else 1 << 26), rate)
    clock(line)
    assert _receive(line, path, method) >= FILE.stall_seconds
    assert line.left == 0


def test_a_body_that_hardly_comes_is_cut(clock: Any) -> None:
    line = Line(LARGEST, FILE.least_rate / 2, 16_384)
    clock(line)
    with pytest.raises(RequestTooSlow):
        _receive(line, "/v1/files")
