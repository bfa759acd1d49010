"""Usage of storage; its budget holds for every way to send a file."""

import asyncio
import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from backend.datasets import endpoints
from backend.datasets.uploads import numbered_parts
from backend.openai.files import endpoints as files
from backend.usage import repository
from tests.backend.people import made, refusal
from tests.backend.server import OWNER_KEY, Backend
from tests.backend.usage.counted import usage

PART = 1000
TUNE = {"purpose": "fine-tune"}


def stored(backend: Backend) -> float:
    return float(usage(backend)["totals"]["storage_bytes"])


def rows(mark: str, bytes: int = 2 * PART) -> bytes:
    """A file of so many bytes that no other test sends."""
    return (f'{{"prompt": "{mark}"}}'.ljust(bytes - 1) + "\n").encode()


def without_length(content: bytes) -> dict[str, Any]:
    """A form as a client sends it that does not know how long it is."""

    def pieces() -> Iterator[bytes]:
        yield b'--x\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nfine-tune\r\n'
        yield b'--x\r\ncontent-disposition: form-data; name="file"; filename="rows.jsonl"\r\n\r\n'
        yield content
        yield b"\r\n--x--\r\n"

    return {"content": pieces(), "headers": {"content-type": "multipart/form-data; boundary=x"}}


@pytest.fixture
def wire(rpc_backend: Backend) -> Iterator[httpx.Client]:
    with rpc_backend.client(OWNER_KEY, "/v1") as client:
        yield client


def stored_counts(backend: Backend, content: bytes) -> tuple[Any, Any]:
    """Datasets and objects with this content."""
    sha256 = hashlib.sha256(content).hexdigest()
    [datasets] = backend.sql("SELECT count(*) FROM dataset WHERE sha256 = %s", sha256)
    [objects] = backend.sql("SELECT count(*) FROM stored_object WHERE sha256 = %s", sha256)
    return datasets[0], objects[0]


@pytest.mark.parametrize("path", ["/api/v1/datasets", "/v1/files"])
def test_a_file_without_a_length_is_measured_before_it_is_stored(
    rpc_backend: Backend, budget: Any, path: str
) -> None:
    content = rows(f"no length {path}")
    budget("storage_bytes", stored(rpc_backend) + PART, "total")
    with rpc_backend.client(OWNER_KEY) as client:
        assert refusal(client.post(path, **without_length(content))) == (409, "budget_exceeded")
        assert stored_counts(rpc_backend, content) == (0, 0)
        budget("storage_bytes", stored(rpc_backend) + 3 * PART, "total")
        assert client.post(path, **without_length(content)).status_code in (200, 201)
    assert stored_counts(rpc_backend, content) == (1, 1)


def test_files_that_come_side_by_side_do_not_pass_it_together(
    rpc_backend: Backend, wire: httpx.Client, budget: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each fits when it is measured; the look that counts is the one with which it becomes a dataset."""

    async def fits(*_: object) -> None:
        pass

    count = repository.storage

    async def slowly(*which: Any) -> Any:
        total = await count(*which)
        await asyncio.sleep(0.2)  # the others come before this one is stored
        return total

    monkeypatch.setattr(endpoints, "require_storage", fits)
    monkeypatch.setattr(files, "require_storage", fits)
    budget("storage_bytes", stored(rpc_backend) + 2 * PART, "total")
    monkeypatch.setattr(repository, "storage", slowly)

    def send(number: int) -> httpx.Response:
        file = {"file": ("rows.jsonl", rows(f"side by side {number}"))}
        if number % 2:
            return wire.post("/files", data=TUNE, files=file)
        return rpc_backend.api.post("/datasets", files=file)

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(send, range(6)))
    assert sorted(answer.status_code < 300 for answer in answers) == [False] * 5 + [True]
    assert {refusal(answer) for answer in answers if answer.status_code >= 300} == {(409, "budget_exceeded")}


def test_parts_of_unfinished_uploads_count(
    rpc_backend: Backend, budget: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two uploads that fit one by one: what the second sends beyond the budget is refused, and may be sent later."""
    monkeypatch.setattr(numbered_parts, "PART_BYTES", PART)
    before = stored(rpc_backend)
    budget("storage_bytes", before + 3 * PART - 1, "total")
    contents = [rows("first in parts"), rows("second in parts")]
    ids = []
    for content in contents:
        answer = rpc_backend.api.post("/uploads", json={"filename": "rows.jsonl", "bytes": len(content)})
        ids.append(made(answer)["id"])

    def put(which: int, number: int) -> httpx.Response:
        data = contents[which][PART * (number - 1) : PART * number]
        return rpc_backend.api.put(f"/uploads/{ids[which]}/parts/{number}", content=data)

    assert [put(0, 1).status_code, put(0, 2).status_code] == [200, 200]
    assert stored(rpc_backend) == before + 2 * PART
    assert refusal(put(1, 1)) == (409, "budget_exceeded")
    assert rpc_backend.api.get(f"/uploads/{ids[1]}").json()["missing"] == [1, 2]
    # Its own parts do not stand in a file's way.
    assert made(rpc_backend.api.post(f"/uploads/{ids[0]}/complete"), 200)["status"] == "completed"
    assert stored(rpc_backend) == before + 2 * PART
    budget("storage_bytes", before + 5 * PART, "total")
    assert [put(1, 1).status_code, put(1, 2).status_code] == [200, 200]
    budget("storage_bytes", before + 3 * PART, "total")
    assert refusal(rpc_backend.api.post(f"/uploads/{ids[1]}/complete")) == (409, "budget_exceeded")
    assert rpc_backend.api.get(f"/uploads/{ids[1]}").json()["status"] == "pending"
    assert made(rpc_backend.api.post(f"/uploads/{ids[1]}/cancel"), 200)
    assert stored(rpc_backend) == before + 2 * PART


def test_parts_on_openais_wire_count(rpc_backend: Backend, wire: httpx.Client, budget: Any) -> None:
    before = stored(rpc_backend)
    body = {"filename": "rows.jsonl", "bytes": 2 * PART, "mime_type": "application/jsonl"} | TUNE
    ids = [made(wire.post("/uploads", json=body), 200)["id"] for _ in range(2)]
    budget("storage_bytes", before + 3 * PART, "total")
    first, second = rows("the first of OpenAI's"), rows("the second of OpenAI's")
    part = made(wire.post(f"/uploads/{ids[0]}/parts", files={"data": first}), 200)
    assert stored(rpc_backend) == before + 2 * PART
    assert refusal(wire.post(f"/uploads/{ids[1]}/parts", files={"data": second})) == (409, "budget_exceeded")
    done = wire.post(f"/uploads/{ids[0]}/complete", json={"part_ids": [part["id"]]})
    assert made(done, 200)["status"] == "completed"
    assert made(wire.post(f"/uploads/{ids[1]}/cancel"), 200)["status"] == "cancelled"


def test_parts_in_the_bucket_count(rpc_backend: Backend) -> None:
    before = stored(rpc_backend)
    made(
        rpc_backend.api.post("/uploads", json={"filename": "rows.jsonl", "bytes": 7, "name": "in the bucket"})
    )
    rpc_backend.sql(
        "INSERT INTO upload_part (id, upload_id, number, digest, bytes, created_at)"
        " SELECT 'part_bucket', id, 1, 'x', 7, now() FROM upload WHERE name = 'in the bucket'"
    )
    assert stored(rpc_backend) == before + 7


def test_what_a_deployment_keeps_counts(rpc_backend: Backend) -> None:
    """Also once its job keeps the checkpoint no longer."""
    trainer = rpc_backend.claim(rpc_backend.create_job())
    trainer.start()
    before = stored(rpc_backend)
    trainer.checkpoint(1, reward=0.5)
    job = trainer.claimed["job"]
    [[checkpoint]] = rpc_backend.sql("SELECT id FROM checkpoint WHERE job_id = %s", job)
    made(rpc_backend.api.post("/deployments", json={"name": "keeps", "checkpoint": checkpoint}))
    held = stored(rpc_backend)
    assert held > before
    rpc_backend.sql("DELETE FROM checkpoint WHERE id = %s", checkpoint)
    assert stored(rpc_backend) == held
