"""Uploads over HTTP: stored whole, or refused with the place of the error."""

import asyncio
import hashlib
import io
import json
import os
import resource
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backend.datasets.uploads import inspection
from tests.backend.server import Backend

ROWS = [{"prompt": f"{n}+1=", "answer": str(n + 1)} for n in range(30)]
JSONL = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
SHARED = Path(os.environ.get("REINFORGE_SHARED", "../shared")).resolve()


def push(backend: Backend, content: bytes, filename: str = "sums.jsonl", **fields: str) -> httpx.Response:
    return backend.api.post("/datasets", files={"file": (filename, content)}, data=fields, timeout=120)


def parquet() -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS), buffer)
    return buffer.getvalue()


def csv() -> bytes:
    return ("prompt,answer\n" + "".join(f"{row['prompt']},{row['answer']}\n" for row in ROWS)).encode()


def stored(backend: Backend) -> tuple[int, int, list[str]]:
    """Rows of datasets, of objects, and files in the upload folder and the object store."""
    counts = [backend.sql(f"SELECT count(*) FROM {table}")[0][0] for table in ("dataset", "stored_object")]
    folders = (backend.home / "uploads", backend.home / "objects" / "blobs")
    files = sorted(path.name for folder in folders for path in folder.rglob("*") if path.is_file())
    return counts[0], counts[1], files


# ── Accepted ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("content", "filename", "format"),
    [
        (JSONL, "sums.jsonl", "jsonl"),
        (b"\xef\xbb\xbf" + JSONL, "bom.jsonl", "jsonl"),
        (JSONL.replace(b"\n", b"\r\n"), "crlf.jsonl", "jsonl"),
        (csv(), "sums.csv", "csv"),
        (parquet(), "sums.parquet", "parquet"),
    ],
)
def test_what_is_accepted_comes_back_byte_for_byte_and_row_by_row(
    backend: Backend, content: bytes, filename: str, format: str
) -> None:
    response = push(backend, content, filename)
    assert response.status_code == 201, response.text
    made = response.json()
    assert (made["format"], made["rows"], made["bytes"], made["filename"]) == (
        format,
        30,
        len(content),
        filename,
    )
    assert made["name"] == Path(filename).stem
    assert made["sha256"] == hashlib.sha256(content).hexdigest()
    assert [column["name"] for column in made["columns"]] == ["prompt", "answer"]
    assert made["columns"][0] == {"name": "prompt", "type": "string", "nulls": 0, "example": "0+1="}
    rows = [row | {"answer": int(row["answer"])} for row in ROWS] if format == "csv" else ROWS
    assert made["preview"][0] == rows[0]
    assert backend.api.get(f"/datasets/{made['id']}").json() == made

    download = backend.api.get(f"/datasets/{made['id']}/content")
    assert download.content == content
    assert f'filename="{filename}"' in download.headers["content-disposition"]

    page = backend.api.get(f"/datasets/{made['id']}/rows", params={"offset": 28, "limit": 10}).json()
    assert (page["data"], page["offset"], page["total"]) == (rows[28:], 28, 30)
    assert backend.api.get(f"/datasets/{made['id']}/rows", params={"offset": 99}).json()["data"] == []


def test_one_row_is_accepted_and_says_what_it_lacks(backend: Backend) -> None:
    made = push(backend, b'{"prompt": "1+1=", "answer": "2"}', "one.jsonl", name="One row").json()
    assert (made["rows"], made["name"]) == (1, "One row")
    assert any("held out" in warning for warning in made["warnings"])


def test_a_download_that_the_browser_has_is_not_sent_again(backend: Backend) -> None:
    made = push(backend, JSONL).json()
    first = backend.api.get(f"/datasets/{made['id']}/content")
    again = backend.api.get(
        f"/datasets/{made['id']}/content", headers={"if-none-match": first.headers["etag"]}
    )
    assert (again.status_code, again.content) == (304, b"")


def test_awkward_file_names_survive_and_lead_nowhere(backend: Backend) -> None:
    for sent, stored in (
        ("../../etc/Zahlen für 世界.jsonl", "Zahlen für 世界.jsonl"),
        ('a"b.jsonl', 'a"b.jsonl'),
    ):
        made = push(backend, JSONL, sent).json()
        assert made["filename"] == stored
        header = backend.api.get(f"/datasets/{made['id']}/content").headers["content-disposition"]
        assert "\n" not in header
        assert "filename*=UTF-8''" in header


def test_the_same_key_gives_the_same_dataset(backend: Backend) -> None:
    def send(content: bytes) -> httpx.Response:
        headers = {"Idempotency-Key": "push-1"}
        return backend.api.post("/datasets", files={"file": ("sums.jsonl", content)}, headers=headers)

    first, again = send(JSONL), send(JSONL)
    assert first.json()["id"] == again.json()["id"]
    assert send(csv()).status_code == 422


def test_lists_are_paged_newest_first(backend: Backend) -> None:
    ids = [push(backend, JSONL, name=f"list {n}").json()["id"] for n in range(3)]
    page = backend.api.get("/datasets", params={"limit": 2}).json()
    assert [dataset["id"] for dataset in page["data"]] == ids[:0:-1]
    assert page["has_more"]
    rest = backend.api.get("/datasets", params={"limit": 2, "after": page["next_cursor"]}).json()
    assert rest["data"][0]["id"] == ids[0]


# ── Refused ───────────────────────────────────────────────────────────────────────────────────────────────

GOOD = b'{"prompt": "1", "answer": "2"}\n'


def zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("sums.jsonl", JSONL)
    return buffer.getvalue()


BAD: dict[str, tuple[bytes, str, str, int | None, int | None]] = {
    # name: content, file name, code, line, column
    "truncated": (GOOD + b'{"prompt": "1", "ans', "a.jsonl", "truncated_json", 2, 17),
    "wrong type": (GOOD + b'{"prompt": 5, "answer": "2"}\n', "a.jsonl", "wrong_type", 2, 12),
    "nul": (GOOD + b'{"prompt": "1\x00", "answer": "2"}\n', "a.jsonl", "nul_byte", 2, 14),
    "duplicate key": (GOOD + b'{"prompt": "1", "prompt": "2"}\n', "a.jsonl", "duplicate_key", 2, 17),
    "empty": (b"", "a.jsonl", "empty_file", None, None),
    "only blank": (b"\n\n  \n", "a.jsonl", "empty_file", None, None),
    "mixed encodings": (GOOD + '{"prompt": "ü"}\n'.encode("latin-1"), "a.jsonl", "wrong_encoding", 2, 13),
    "utf-16": (JSONL.decode().encode("utf-16"), "a.jsonl", "wrong_encoding", 1, 1),
    "zip": (zipped(), "a.jsonl", "wrong_format", None, None),
    "ragged csv": (b"prompt,answer\n1,2\n1,2,3\n", "a.csv", "ragged_row", 3, None),
    "cut parquet": (parquet()[:-20], "a.parquet", "corrupt_parquet", None, None),
    "unknown": (b"\x89PNG\r\n\x1a\n" + bytes(50), "a.png", "wrong_format", None, None),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_refused_names_the_fault_and_leaves_nothing(backend: Backend, name: str) -> None:
    content, filename, code, line, column = BAD[name]
    before = stored(backend)
    response = push(backend, content, filename)
    assert response.status_code == 422, response.text
    error = response.json()["error"]
    assert (error["code"], error["param"]) == (code, "file")
    assert error["hint"]
    if line is not None:
        assert error["errors"][0]["line"] == line
    if column is not None:
        assert error["errors"][0]["column"] == column
    assert stored(backend) == before


@pytest.mark.parametrize("announced", [True, False], ids=["announced", "chunked"])
def test_over_the_limit_nothing_is_stored(small: Backend, announced: bool) -> None:
    before = stored(small)
    head = b'--b\r\ncontent-disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n'
    tail = b"\r\n--b--\r\n"

    def body() -> Iterator[bytes]:
        yield head
        for _ in range(100):
            yield b"x" * 100_000
        yield tail

    headers = {"content-type": "multipart/form-data; boundary=b"}
    if announced:
        headers["content-length"] = str(10_000_000 + len(head) + len(tail))
    response = small.api.post("/datasets", content=body(), headers=headers, timeout=60)
    assert response.status_code == 413
    assert response.json()["error"]["code"] == "file_too_large"
    assert stored(small) == before


@pytest.fixture(scope="module")
def small(other_module_database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    with Backend(
        other_module_database_url, tmp_path_factory.mktemp("small"), upload_limit_bytes=1_000_000
    ) as running:
        yield running


@pytest.fixture(scope="module")
def attempt(small: Backend) -> Iterator[httpx.Client]:
    """The door with the token of an attempt at a job."""
    small.register()
    with small.rpc_worker():
        token = small.claim(small.create_job()).claimed["job_token"]
    with small.client(token, "/worker/v1") as client:
        yield client


def test_on_a_full_disk_nothing_is_stored_and_the_error_names_it(
    small: Backend, attempt: httpx.Client
) -> None:
    before = stored(small)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))  # writes fail part of the way
    try:
        answers = [
            push(small, JSONL * 10),
            attempt.put("/blobs/" + hashlib.sha256(JSONL).hexdigest(), content=JSONL),
        ]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    for answer in answers:
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (503, "storage_full")
        assert error["hint"]
    assert stored(small) == before


def test_an_upload_folder_that_cannot_be_used_is_named(small: Backend, attempt: httpx.Client) -> None:
    folder = small.home / "uploads"
    folder.mkdir(exist_ok=True)
    folder.rename(small.home / "away")
    folder.touch()
    try:
        answers = [
            push(small, JSONL),
            attempt.put("/blobs/" + hashlib.sha256(JSONL).hexdigest(), content=JSONL),
        ]
    finally:
        folder.unlink()
        (small.home / "away").rename(folder)
    for answer in answers:
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (503, "storage_unavailable"), error
        assert error["hint"]


def test_a_file_just_over_the_limit_gets_the_error(small: Backend) -> None:
    response = push(small, JSONL * 1000)
    assert response.status_code == 413
    error = response.json()["error"]
    assert "976.6 KiB" in error["message"]
    assert error["hint"]


@pytest.mark.parametrize(
    ("content_type", "body", "code"),
    [
        ("application/json", b"{}", "invalid_multipart"),
        ("multipart/form-data", b"", "invalid_multipart"),
        ("multipart/form-data; boundary=b", b"no part", "invalid_multipart"),
        (
            "multipart/form-data; boundary=b",
            b'--b\r\ncontent-disposition: form-data; name="x"\r\n\r\ny\r\n--b--\r\n',
            "missing_file",
        ),
        (
            "multipart/form-data; boundary=b",
            b'--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n{"prompt": "1"}\n',
            "invalid_multipart",
        ),
        (
            "multipart/form-data; boundary=b",
            b'--b\r\ncontent-disposition: form-data; name="name"\r\n\r\n' + b"y" * 100_000 + b"\r\n--b--\r\n",
            "invalid_multipart",
        ),
    ],
    ids=["no form", "no boundary", "no part", "no file", "cut off", "huge field"],
)  # fmt: skip
def test_a_request_that_is_no_upload_is_refused(
    backend: Backend, content_type: str, body: bytes, code: str
) -> None:
    before = stored(backend)
    response = backend.api.post("/datasets", content=body, headers={"content-type": content_type})
    assert response.status_code == 422, response.text
    assert response.json()["error"]["code"] == code
    assert stored(backend) == before


def test_a_reader_may_not_upload(backend: Backend) -> None:
    with backend.add_key("viewer") as viewer:
        assert viewer.post("/datasets", files={"file": ("a.jsonl", JSONL)}).status_code == 403
        assert viewer.get("/datasets").status_code == 200


def test_a_file_that_takes_too_much_memory_costs_a_child_and_nothing_else(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backend.datasets.uploads.inspection.MEMORY_BYTES", 600 << 20)
    buffer = io.BytesIO()
    # A few KB of Parquet that decode to 560 MB at once.
    table = pa.table({"prompt": pa.array(["x" * 7_000_000] * 80)})
    pq.write_table(table, buffer, compression="zstd", use_dictionary=False)
    response = push(backend, buffer.getvalue(), "bomb.parquet")
    assert response.status_code == 413, response.text
    assert response.json()["error"]["code"] == "file_too_complex"
    monkeypatch.undo()
    assert push(backend, JSONL).status_code == 201


def test_checks_of_one_project_leave_a_place_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running: list[str] = []

    async def check_all() -> None:
        release = asyncio.Event()

        async def run(_: str, file: str, *__: str, seconds: float) -> tuple[bytes, int]:
            running.append(Path(file).stem)
            await release.wait()
            return b"", 1

        monkeypatch.setattr(inspection, "run_child", run)
        checks = [
            asyncio.create_task(
                inspection.inspect_file(tmp_path / f"{name}.jsonl", "rows.jsonl", 1 << 20, project=name)
            )
            for name in ("one", "one", "one", "other")
        ]
        while len(running) < 3:
            await asyncio.sleep(0)
        assert sorted(running) == ["one", "one", "other"]
        release.set()
        await asyncio.gather(*checks, return_exceptions=True)

    for name in ("one", "other"):
        (tmp_path / f"{name}.jsonl").write_bytes(JSONL)
    asyncio.run(check_all())


# ── Deleted ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_deleted_dataset_is_gone(backend: Backend) -> None:
    made = push(backend, JSONL).json()
    assert backend.api.delete(f"/datasets/{made['id']}").status_code == 204
    for path in ("", "/rows", "/content"):
        assert backend.api.get(f"/datasets/{made['id']}{path}").status_code == 404
    assert backend.api.delete(f"/datasets/{made['id']}").status_code == 404
    assert made["id"] not in [dataset["id"] for dataset in backend.api.get("/datasets").json()["data"]]


@pytest.mark.parametrize("place", ["dataset", "held_out"])
def test_a_dataset_stays_while_a_job_needs_it(rpc_backend: Backend, place: str) -> None:
    backend = rpc_backend
    made = push(backend, JSONL).json()
    job = backend.create_job(data={"dataset": backend.add_dataset(), place: made["id"]})
    assert backend.api.get(f"/datasets/{made['id']}").json()["jobs"] == 1
    refused = backend.api.delete(f"/datasets/{made['id']}")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "dataset_in_use")
    assert job in refused.json()["error"]["message"]
    assert backend.api.post(f"/jobs/{job}/cancel").status_code == 200
    assert backend.api.delete(f"/datasets/{made['id']}").status_code == 204
    assert backend.job(job)["resolved_spec"]["data"][place] == made["id"]


# ── Real data ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.skipif(not (SHARED / "data" / "gsm8k").is_dir(), reason=f"no GSM8K in {SHARED}/data")
def test_gsm8k(backend: Backend) -> None:
    path = max((SHARED / "data" / "gsm8k").glob("*.*l*"), key=lambda path: path.stat().st_size)
    response = push(backend, path.read_bytes(), path.name)
    assert response.status_code == 201, response.text
    made: dict[str, Any] = response.json()
    assert made["rows"] == 7473
    assert {column["name"] for column in made["columns"]} == {"question", "answer"}
    assert (
        "####"
        in backend.api.get(f"/datasets/{made['id']}/rows", params={"offset": 7000}).json()["data"][0][
            "answer"
        ]
    )
