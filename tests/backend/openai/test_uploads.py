"""`/v1/uploads`: files in parts."""

import hashlib
import json
from typing import Any

import httpx
import pytest

from tests.backend.openai import schemas
from tests.backend.openai.test_files import content, refused
from tests.backend.server import Backend


def begin(wire: httpx.Client, size: int = len(content()), **fields: Any) -> dict[str, Any]:
    body = {"bytes": size, "filename": "sums.jsonl", "mime_type": "application/jsonl", "purpose": "fine-tune"}
    answer = wire.post("/uploads", json=body | fields)
    assert answer.status_code == 200, answer.text
    return schemas.checked(answer.json(), schemas.UPLOAD)


def send(wire: httpx.Client, upload: dict[str, Any], data: bytes) -> str:
    answer = wire.post(f"/uploads/{upload['id']}/parts", files={"data": ("upload", data)})
    assert answer.status_code == 200, answer.text
    return str(schemas.checked(answer.json(), schemas.UPLOAD_PART)["id"])


def complete(wire: httpx.Client, upload: dict[str, Any], parts: list[str], **fields: str) -> httpx.Response:
    return wire.post(f"/uploads/{upload['id']}/complete", json={"part_ids": parts} | fields)


def test_parts_in_any_order_and_sent_again_become_one_file(wire: httpx.Client, rpc_backend: Backend) -> None:
    upload = begin(wire, expires_after={"anchor": "created_at", "seconds": 7200})
    assert upload["status"] == "pending"
    data = content()
    pieces = [data[:100], data[100:101], data[101:]]
    ids = {number: send(wire, upload, pieces[number]) for number in (2, 0, 1)}
    send(wire, upload, pieces[1])  # again, as a client does that got no answer
    done = complete(wire, upload, [ids[0], ids[1], ids[2]], md5=hashlib.md5(data).hexdigest())
    file = schemas.checked(done.json(), schemas.UPLOAD)["file"]
    assert (done.json()["status"], file["filename"], file["bytes"]) == ("completed", "sums.jsonl", len(data))
    assert file["expires_at"] - file["created_at"] == 7200
    assert wire.get(f"/files/{file['id']}/content").content == data
    assert rpc_backend.sql("SELECT count(*) FROM upload_part WHERE upload_id = %s", upload["id"]) == [(0,)]
    refused(complete(wire, upload, list(ids.values())), 409, "upload_not_pending", "upload_id")


def test_what_does_not_add_up_is_refused_and_can_be_mended(wire: httpx.Client) -> None:
    upload, data = begin(wire), content()
    first, second = send(wire, upload, data[:50]), send(wire, upload, data[50:])
    refused(complete(wire, upload, [first]), 400, "wrong_size", "part_ids")
    refused(complete(wire, upload, [first, first]), 400, "invalid_part", "part_ids[1]")
    refused(complete(wire, upload, [first, "part_none"]), 400, "invalid_part", "part_ids[1]")
    refused(complete(wire, upload, [first, second], md5="0" * 32), 400, "wrong_md5", "md5")
    swapped = complete(wire, upload, [second, first])
    assert swapped.status_code == 400, swapped.text  # no JSONL
    assert complete(wire, upload, [first, second]).json()["status"] == "completed"


def test_rows_of_an_upload_are_checked_like_those_of_a_file(wire: httpx.Client) -> None:
    data = json.dumps({"prompt": ""}).encode()
    upload = begin(wire, len(data))
    refused(complete(wire, upload, [send(wire, upload, data)]), 400, "empty_prompt", "file")


def test_a_cancelled_upload_takes_nothing_more(wire: httpx.Client) -> None:
    upload = begin(wire)
    part = send(wire, upload, content())
    cancelled = wire.post(f"/uploads/{upload['id']}/cancel")
    assert schemas.checked(cancelled.json(), schemas.UPLOAD)["status"] == "cancelled"
    refused(complete(wire, upload, [part]), 409, "upload_not_pending", "upload_id")
    late = wire.post(f"/uploads/{upload['id']}/parts", files={"data": ("upload", b"x")})
    refused(late, 409, "upload_not_pending", "upload_id")
    assert late.headers["x-should-retry"] == "false"


def test_an_upload_has_an_hour(wire: httpx.Client, rpc_backend: Backend) -> None:
    upload = begin(wire)
    assert upload["expires_at"] - upload["created_at"] == 3600
    rpc_backend.sql("UPDATE upload SET expires_at = now() WHERE id = %s", upload["id"])
    refused(complete(wire, upload, ["part_x"]), 409, "upload_not_pending", "upload_id")


@pytest.mark.parametrize(
    ("change", "status", "code", "param"),
    [
        pytest.param({"purpose": "vision"}, 400, "purpose_not_offered", "purpose", id="purpose"),
        pytest.param({"bytes": 1 << 40}, 413, "file_too_large", "file", id="too-large"),
        pytest.param({"bytes": 0}, 400, "invalid_input", "bytes", id="empty"),
        pytest.param({"filename": ""}, 400, "invalid_input", "filename", id="no-name"),
    ],
)
def test_uploads_that_cannot_succeed_are_refused_at_once(
    wire: httpx.Client, change: dict[str, Any], status: int, code: str, param: str
) -> None:
    body = {"bytes": 9, "filename": "a.jsonl", "mime_type": "text/jsonl", "purpose": "fine-tune"} | change
    refused(wire.post("/uploads", json=body), status, code, param)


def test_uploads_of_others_are_not_there(wire: httpx.Client, rpc_backend: Backend) -> None:
    upload = begin(wire)
    rpc_backend.sql("INSERT INTO project (id, name, created_at) VALUES ('proj_u', 'u', now())")
    rpc_backend.sql("UPDATE upload SET project_id = 'proj_u' WHERE id = %s", upload["id"])
    for action in ("cancel", "complete"):
        answer = wire.post(f"/uploads/{upload['id']}/{action}", json={"part_ids": ["part_x"]})
        refused(answer, 404, "upload_not_found", "upload_id")
