"""`/v1/files`: datasets under OpenAI's names."""

import asyncio
import json
from typing import Any

import httpx
import pytest

from backend.data.database import Database
from backend.datasets import service as datasets
from tests.backend.openai import schemas
from tests.backend.server import Backend

ROWS = [{"prompt": f"{n}+1=", "answer": str(n + 1)} for n in range(12)]


def content(rows: list[dict[str, Any]] = ROWS) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def upload(wire: httpx.Client, data: bytes | None = None, **fields: str) -> httpx.Response:
    files = {"file": ("sums.jsonl", content() if data is None else data, "application/octet-stream")}
    return wire.post("/files", data={"purpose": "fine-tune"} | fields, files=files)


def created(wire: httpx.Client, **fields: str) -> dict[str, Any]:
    answer = upload(wire, **fields)
    assert answer.status_code == 200, answer.text
    return schemas.checked(answer.json(), schemas.FILE)


def refused(answer: httpx.Response, status: int, code: str, param: str | None) -> dict[str, Any]:
    error = schemas.checked(answer.json(), schemas.ERROR)["error"]
    assert (answer.status_code, error["code"], error["param"]) == (status, code, param), answer.text
    assert answer.headers["x-request-id"] == error["request_id"]
    return dict(error)


def test_a_file_is_stored_as_it_was_sent(wire: httpx.Client, rpc_backend: Backend) -> None:
    file = created(wire)
    assert (file["filename"], file["bytes"], file["status"]) == ("sums.jsonl", len(content()), "processed")
    assert schemas.checked(wire.get(f"/files/{file['id']}").json(), schemas.FILE) == file
    assert wire.get(f"/files/{file['id']}/content").content == content()
    assert rpc_backend.api.get(f"/datasets/{file['id']}").json()["rows"] == 12


def test_lists_go_on_behind_the_last_file_even_when_it_was_deleted(wire: httpx.Client) -> None:
    made = [created(wire)["id"] for _ in range(5)]
    newest = schemas.checked(wire.get("/files", params={"limit": 2}).json(), schemas.LIST)
    assert [file["id"] for file in newest["data"]] == made[:2:-1]
    assert (newest["has_more"], newest["first_id"], newest["last_id"]) == (True, made[4], made[3])
    wire.delete(f"/files/{made[3]}")
    rest = wire.get("/files", params={"limit": 2, "after": made[3]}).json()
    assert [file["id"] for file in rest["data"]] == [made[2], made[1]]
    oldest = wire.get("/files", params={"order": "asc", "after": made[0], "limit": 10000}).json()
    assert [file["id"] for file in oldest["data"]] == [made[1], made[2], made[4]]
    assert oldest["has_more"] is False
    nothing = wire.get("/files", params={"purpose": "batch"}).json()
    assert (nothing["data"], nothing["has_more"]) == ([], False)


def test_a_fault_in_a_row_is_named_and_nothing_is_stored(wire: httpx.Client, rpc_backend: Backend) -> None:
    before = len(wire.get("/files").json()["data"])
    bad = (
        content()
        + b'{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}\n'
    )
    error = refused(upload(wire, bad), 400, "last_message", "file")
    assert error["errors"][0]["line"] == 13
    assert len(wire.get("/files").json()["data"]) == before


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        pytest.param({"purpose": "batch"}, "purpose_not_offered", "purpose", id="other-purpose"),
        pytest.param({"purpose": "finetune"}, "invalid_purpose", "purpose", id="no-purpose-at-all"),
        pytest.param(
            {"expires_after[anchor]": "created_at", "expires_after[seconds]": "60"},
            "invalid_input", "expires_after.seconds", id="expires-too-soon",
        ),
        pytest.param(
            {"expires_after[anchor]": "last_active_at", "expires_after[seconds]": "3600"},
            "invalid_input", "expires_after.anchor", id="other-anchor",
        ),
        pytest.param(
            {"expires_after[seconds]": "3600"}, "invalid_input", "expires_after.anchor", id="no-anchor"
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused(
    wire: httpx.Client, fields: dict[str, str], code: str, param: str
) -> None:
    refused(upload(wire, **fields), 400, code, param)


def test_unknown_files_pages_and_keys_answer_in_the_envelope(
    wire: httpx.Client, rpc_backend: Backend
) -> None:
    for answer in (
        wire.get("/files/file-none"),
        wire.delete("/files/file-none"),
        wire.get("/files/x/content"),
    ):
        refused(answer, 404, "file_not_found", "file_id")
    refused(wire.get("/files", params={"after": "file-none"}), 400, "invalid_cursor", "after")
    refused(wire.get("/files", params={"limit": 0}), 400, "invalid_input", "limit")
    refused(wire.get("/nothing"), 404, "unknown_path", None)
    refused(rpc_backend.bare.get("/v1/files"), 401, "missing_api_key", None)
    with rpc_backend.add_key("viewer") as viewer:
        key = viewer.headers["authorization"]
        refused(wire.delete("/files/file-none", headers={"authorization": key}), 403, "not_allowed", None)


def test_a_file_that_an_unfinished_job_needs_stays(wire: httpx.Client, rpc_backend: Backend) -> None:
    file = created(wire)["id"]
    job = rpc_backend.create_job(data={"dataset": file})
    answer = wire.delete(f"/files/{file}")
    refused(answer, 409, "dataset_in_use", None)
    assert answer.headers["x-should-retry"] == "false"
    rpc_backend.api.post(f"/jobs/{job}/cancel")
    gone = schemas.checked(wire.delete(f"/files/{file}").json(), schemas.DELETED)
    assert gone == {"id": file, "object": "file", "deleted": True}
    assert wire.get(f"/files/{file}").status_code == 404
    # The name is gone; the bytes stay for the job that was made of them.
    [(sha256,)] = rpc_backend.sql("SELECT sha256 FROM dataset WHERE id = %s", file)
    assert rpc_backend.get_blob(sha256).content == content()
    assert rpc_backend.job(job)["dataset"] == file


def test_a_file_of_a_preflight_alone_can_be_deleted(wire: httpx.Client, rpc_backend: Backend) -> None:
    file = created(wire)["id"]
    job = rpc_backend.create_job(data={"dataset": file})
    rpc_backend.sql("UPDATE job SET purpose = 'preflight', status = 'succeeded' WHERE id = %s", job)
    assert wire.delete(f"/files/{file}").status_code == 200


def test_a_file_ends_when_its_time_is_over(wire: httpx.Client, rpc_backend: Backend) -> None:
    expiry = {"expires_after[anchor]": "created_at", "expires_after[seconds]": "3600"}
    over, used, later = (created(wire, **expiry) for _ in range(3))
    assert over["expires_at"] - over["created_at"] == 3600
    rpc_backend.create_job(data={"dataset": used["id"]})
    for file in (over, used):
        rpc_backend.sql("UPDATE dataset SET expires_at = now() - interval '1 s' WHERE id = %s", file["id"])
    expire(rpc_backend)
    statuses = [wire.get(f"/files/{file['id']}").status_code for file in (over, used, later)]
    assert statuses == [404, 200, 200]


def test_rows_of_deleted_files_go_unless_a_job_names_them(wire: httpx.Client, rpc_backend: Backend) -> None:
    alone, used = created(wire)["id"], created(wire)["id"]
    job = rpc_backend.create_job(data={"dataset": used})
    rpc_backend.api.post(f"/jobs/{job}/cancel")
    for file in (alone, used):
        wire.delete(f"/files/{file}")
    query = "SELECT id FROM dataset WHERE id = ANY(%s)"
    expire(rpc_backend)
    assert len(rpc_backend.sql(query, [alone, used])) == 2  # lists are read on behind them for a while
    rpc_backend.sql(
        "UPDATE dataset SET deleted_at = now() - interval '2 h' WHERE id = ANY(%s)", [alone, used]
    )
    expire(rpc_backend)
    assert rpc_backend.sql(query, [alone, used]) == [(used,)]


def expire(backend: Backend) -> None:
    """What the background does about files, once."""

    async def once() -> None:
        database = Database(backend.database_url, pool_size=2)
        async with database.transaction() as session:
            await datasets.expire(session)
        await database.close()

    asyncio.run(once())


def test_the_same_idempotency_key_makes_one_file(wire: httpx.Client) -> None:
    wire.headers["idempotency-key"] = "file-once"
    assert created(wire)["id"] == created(wire)["id"]
