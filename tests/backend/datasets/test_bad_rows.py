"""Uploads with bad rows: all faults reported, or skipped; guessed columns and numbers of CSV."""

import io
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq

from tests.backend.server import OWNER_KEY, Backend

CONTENT = b'question,total\n1+1,2\n"bad" quote,3\n2+2,4\n ,5\n3+3,6\nragged\n4+4,eight\n'


def push(backend: Backend, content: bytes, filename: str, **fields: str) -> httpx.Response:
    return backend.api.post("/datasets", files={"file": (filename, content)}, data=fields)


def test_all_faults_are_reported_and_nothing_is_stored(backend: Backend) -> None:
    before = backend.api.get("/datasets").json()
    error = push(backend, CONTENT, "bad.csv").json()["error"]
    assert error["message"] == "A quoted field ended just before this; only a delimiter may follow."
    assert [(fault["line"], fault["column"], fault["code"]) for fault in error["errors"]] == [
        (3, 6, "invalid_csv"),
        (5, 1, "empty_prompt"),
        (7, 7, "ragged_row"),
    ]
    assert error["faults"] == {"bad_rows": 3, "good_rows": 4, "skippable": True}
    assert backend.api.get("/datasets").json() == before


def test_bad_rows_are_skipped_and_recorded(backend: Backend) -> None:
    made: dict[str, Any] = push(backend, CONTENT, "bad.csv", skip_bad_rows="true").json()
    assert made["rows"] == 4
    assert (made["skipped"]["rows"], made["skipped"]["lines"]) == (3, [3, 5, 7])
    assert [fault["line"] for fault in made["skipped"]["faults"]] == [3, 5, 7]
    download = backend.api.get(f"/datasets/{made['id']}/content")
    assert download.content == b"question,total\n1+1,2\n2+2,4\n3+3,6\n4+4,eight\n"
    assert backend.api.get(f"/datasets/{made['id']}").json() == made


def test_bad_rows_of_parquet_are_skipped(backend: Backend) -> None:
    target = io.BytesIO()
    pq.write_table(pa.table({"prompt": ["1+1=", " ", "2+2="], "answer": [2, 3, 4]}), target)
    error = push(backend, target.getvalue(), "bad.parquet").json()["error"]
    assert error["faults"] == {"bad_rows": 1, "good_rows": 2, "skippable": True}
    made = push(backend, target.getvalue(), "bad.parquet", skip_bad_rows="true").json()
    assert (made["rows"], made["skipped"]["lines"]) == (2, [2])
    rows = backend.api.get(f"/datasets/{made['id']}/rows").json()["data"]
    assert rows == [{"prompt": "1+1=", "answer": 2}, {"prompt": "2+2=", "answer": 4}]


def test_a_good_file_has_nothing_skipped(backend: Backend) -> None:
    content = b"prompt,answer\n11+22=,33\n"
    made = push(backend, content, "good.csv", skip_bad_rows="true").json()
    assert (made["skipped"], made["rows"]) == (None, 1)
    assert backend.api.get(f"/datasets/{made['id']}/content").content == content


def test_the_option_is_true_or_false(backend: Backend) -> None:
    error = push(backend, CONTENT, "bad.csv", skip_bad_rows="perhaps").json()["error"]
    assert error["param"] == "skip_bad_rows"


def test_numbers_and_suggested_columns(backend: Backend) -> None:
    made = push(backend, b"question,total\n1+1,2\n2+2,4\n", "sums.csv").json()
    assert made["suggested_columns"] == {
        "prompt": "question",
        "messages": None,
        "answer": "total",
        "slice": None,
    }
    rows = backend.api.get(f"/datasets/{made['id']}/rows").json()["data"]
    assert rows == [{"question": "1+1", "total": 2}, {"question": "2+2", "total": 4}]
    view = {"prompt_view": {"columns": {"prompt": "question", "answer": "total"}}}
    headers = {"if-match": made["etag"]}
    changed = backend.api.patch(f"/datasets/{made['id']}", json=view, headers=headers)
    assert changed.status_code == 200, changed.text
    assert changed.json()["suggested_columns"] is None


def test_openai_files_name_the_first_fault_and_list_all(backend: Backend) -> None:
    url = f"{backend.url}/v1/files"
    headers = {"authorization": backend.api.headers["authorization"]}
    files = {"file": ("bad.csv", CONTENT)}
    response = httpx.post(url, headers=headers, files=files, data={"purpose": "fine-tune"})
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["message"].startswith("Line 3, column 6: A quoted field ended just before this")
    assert [fault["line"] for fault in error["errors"]] == [3, 5, 7]


def test_openais_wire_skips_bad_rows(backend: Backend) -> None:
    with backend.client(OWNER_KEY, "/v1") as wire:
        form = {"purpose": "fine-tune", "skip_bad_rows": "true"}
        file = wire.post("/files", files={"file": ("bad.csv", CONTENT)}, data=form).json()
        assert backend.api.get(f"/datasets/{file['id']}").json()["skipped"]["lines"] == [3, 5, 7]
        body = {"bytes": len(CONTENT), "filename": "b.csv", "mime_type": "text/csv", "purpose": "fine-tune"}
        url = f"/uploads/{wire.post('/uploads', json=body).json()['id']}"
        part = wire.post(f"{url}/parts", files={"data": ("part", CONTENT)}).json()["id"]
        assert wire.post(f"{url}/complete", json={"part_ids": [part]}).status_code == 400
        completed = wire.post(f"{url}/complete", json={"part_ids": [part], "skip_bad_rows": True})
        assert completed.status_code == 200, completed.text
        assert backend.api.get(f"/datasets/{completed.json()['file']['id']}").json()["rows"] == 4


def test_a_claim_has_the_number_columns(rpc_backend: Backend) -> None:
    made = push(rpc_backend, b"prompt,total\n1+1,2\n2+2,4\n", "numbers.csv").json()
    texts = push(rpc_backend, b'{"prompt": "1+1", "answer": "2"}\n', "held.jsonl").json()
    job = rpc_backend.create_job(data={"dataset": made["id"], "held_out": texts["id"]})
    claimed = rpc_backend.claim(job).claimed
    assert (claimed["dataset_numbers"], claimed["held_out_numbers"]) == (["total"], [])
