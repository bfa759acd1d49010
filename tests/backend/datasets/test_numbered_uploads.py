"""`/api/v1/uploads`: files in numbered parts, through the server and straight into a bucket."""

import asyncio
import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest

from backend.background import Leader
from backend.data.database import Database
from backend.data.objects import Objects, configured_store
from backend.datasets.uploads import numbered_parts
from backend.rpc.wake_ups import WakeUps
from tests.backend.server import Backend

SMALL = 1000
"""Bytes of a part on a folder."""
LARGE = 5 * 1024**2
"""The least that a bucket takes."""


class Sender:
    """A file in parts, as a client without our SDK would send it."""

    def __init__(self, backend: Backend, content: bytes, **fields: Any) -> None:
        self.backend, self.content = backend, content
        body = {"filename": "sums.jsonl", "bytes": len(content), "sha256": digest(content)} | fields
        answer = backend.api.post("/uploads", json=body)
        assert answer.status_code == 201, answer.text
        self.upload: dict[str, Any] = answer.json()
        self.id = self.upload["id"]

    def part(self, number: int) -> bytes:
        size = self.upload["part_bytes"]
        return self.content[size * (number - 1) : size * number]

    def put(self, number: int, data: bytes | None = None, sha256: str | None = None) -> httpx.Response:
        data = self.part(number) if data is None else data
        params = {"sha256": sha256 or digest(data)}
        return self.backend.api.put(f"/uploads/{self.id}/parts/{number}", params=params, content=data)

    def put_straight(self, number: int, data: bytes | None = None) -> httpx.Response:
        """Into the bucket."""
        sha256 = digest(self.part(number))
        answer = self.backend.api.post(f"/uploads/{self.id}/parts/{number}/url", params={"sha256": sha256})
        assert answer.status_code == 200, answer.text
        where = answer.json()
        return httpx.put(where["url"], headers=where["headers"], content=data or self.part(number))

    def state(self) -> dict[str, Any]:
        answer = self.backend.api.get(f"/uploads/{self.id}")
        assert answer.status_code == 200, answer.text
        upload: dict[str, Any] = answer.json()
        return upload

    def complete(self, **params: Any) -> httpx.Response:
        return self.backend.api.post(f"/uploads/{self.id}/complete", params=params, timeout=120)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def rows(count: int, start: int = 0) -> bytes:
    return b"".join(
        b'{"prompt": "%d+1=", "answer": "%d"}\n' % (n, n + 1) for n in range(start, start + count)
    )


def refused(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    error: dict[str, Any] = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (status, code), answer.text
    assert error["hint"]
    return error


def datasets(backend: Backend) -> int:
    return int(backend.sql("SELECT count(*) FROM dataset WHERE deleted_at IS NULL")[0][0])


def sweep(backend: Backend) -> None:
    """What the background's leader does about files, once."""
    asyncio.run(_sweep(backend))


async def _sweep(backend: Backend) -> None:
    database, wake_ups = Database(backend.database_url, pool_size=2), WakeUps(backend.settings)
    try:
        await Leader(database, Objects(database, configured_store(backend.settings)), wake_ups).expire_files()
    finally:
        wake_ups.close()
        await database.close()


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbered_parts, "PART_BYTES", SMALL)


@pytest.mark.usefixtures("small_parts")
class TestThroughTheServer:
    def test_parts_in_any_order_side_by_side_and_again_become_a_dataset(self, backend: Backend) -> None:
        content = rows(300)
        sender = Sender(backend, content, name="in parts")
        count = -(-len(content) // SMALL)
        assert (sender.upload["part_bytes"], sender.upload["part_count"]) == (SMALL, count)
        assert sender.upload["missing"] == list(range(1, count + 1))
        assert sender.upload["direct"] is False
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(sender.put, [*range(count, 0, -1), 3, 3]))
        assert {answer.status_code for answer in answers} == {200}
        state = sender.state()
        assert [part["number"] for part in state["parts"]] == list(range(1, count + 1))
        assert (state["parts"][0]["sha256"], state["missing"]) == (digest(content[:SMALL]), [])
        done = sender.complete()
        assert done.status_code == 200, done.text
        made = done.json()["dataset"]
        assert (made["name"], made["rows"], made["sha256"]) == ("in parts", 300, digest(content))
        assert backend.api.get(f"/datasets/{made['id']}/content").content == content
        assert sender.complete().json()["dataset"]["id"] == made["id"], (
            "a client that got no answer asks again"
        )
        assert backend.sql("SELECT count(*) FROM upload_part WHERE upload_id = %s", sender.id) == [(0,)]

    def test_the_same_file_finds_its_unfinished_upload(self, backend: Backend) -> None:
        content = rows(80, start=1000)
        first = Sender(backend, content)
        first.put(2)
        again = Sender(backend, content)
        assert (again.id, [part["number"] for part in again.upload["parts"]]) == (first.id, [2])
        assert Sender(backend, content, name="another name").id != first.id
        assert Sender(backend, content, sha256=None).id != first.id

    def test_a_missing_part_leaves_the_upload_to_be_finished(self, backend: Backend) -> None:
        before = datasets(backend)
        sender = Sender(backend, rows(100, start=2000))
        for number in range(2, sender.upload["part_count"] + 1):
            sender.put(number)
        assert "1 of 4 parts are missing: 1." in refused(sender.complete(), 422, "missing_parts")["message"]
        assert datasets(backend) == before
        sender.put(1)
        assert sender.complete().json()["status"] == "completed"

    def test_parts_of_another_size_number_or_digest_are_refused(self, backend: Backend) -> None:
        sender = Sender(backend, rows(100, start=3000))
        assert (
            "has 999 bytes" in refused(sender.put(1, sender.part(1)[:-1]), 422, "wrong_part_size")["message"]
        )
        refused(sender.put(1, sender.part(1), sha256="0" * 64), 422, "part_mismatch")
        refused(sender.put(9), 422, "unknown_part")
        assert sender.state()["parts"] == []

    def test_a_part_with_other_bytes_takes_the_firsts_place(self, backend: Backend) -> None:
        content = rows(60, start=4000)
        sender = Sender(backend, content)
        assert sender.put(1, b"x" * SMALL).status_code == 200
        for number in range(1, sender.upload["part_count"] + 1):
            assert sender.put(number).status_code == 200
        assert sender.complete().json()["dataset"]["sha256"] == digest(content)

    def test_another_digest_of_the_whole_is_refused_and_nothing_is_stored(self, backend: Backend) -> None:
        before = datasets(backend)
        sender = Sender(backend, rows(60, start=5000), sha256="a" * 64)
        for number in range(1, sender.upload["part_count"] + 1):
            sender.put(number)
        refused(sender.complete(), 422, "wrong_sha256")
        assert sender.state()["status"] == "refused"
        refused(sender.complete(), 422, "wrong_sha256")
        refused(sender.put(1), 409, "upload_not_pending")
        assert datasets(backend) == before

    def test_a_bad_row_is_named_with_its_line_and_nothing_is_stored(self, backend: Backend) -> None:
        before = datasets(backend)
        sender = Sender(backend, rows(50, start=6000) + b'{"prompt": \n')
        for number in range(1, sender.upload["part_count"] + 1):
            sender.put(number)
        error = refused(sender.complete(), 422, "truncated_json")
        assert error["errors"][0]["line"] == 51
        assert refused(sender.complete(), 422, "truncated_json")["errors"][0]["line"] == 51
        assert datasets(backend) == before
        assert [path for path in (backend.home / "uploads").iterdir() if path.is_file()] == []

    def test_bad_rows_can_be_skipped_without_sending_the_parts_again(self, backend: Backend) -> None:
        content = rows(50, start=6500) + b'{"prompt": \n'
        sender = Sender(backend, content)
        for number in range(1, sender.upload["part_count"] + 1):
            sender.put(number)
        faults = refused(sender.complete(), 422, "truncated_json")["faults"]
        assert faults == {"bad_rows": 1, "good_rows": 50, "skippable": True}
        until = datetime.fromisoformat(sender.state()["expires_at"])
        assert timedelta(minutes=50) < until - datetime.now(UTC) <= timedelta(hours=1)
        same = Sender(backend, content)
        assert (same.id, same.upload["missing"]) == (sender.id, [])
        made = sender.complete(skip_bad_rows=True).json()["dataset"]
        assert (made["rows"], made["skipped"]["rows"], made["skipped"]["lines"]) == (50, 1, [51])
        assert made["skipped"]["sha256"] == digest(content)
        assert backend.api.get(f"/datasets/{made['id']}/content").content == rows(50, start=6500)
        assert sender.state()["status"] == "completed"
        assert [path for path in (backend.home / "uploads").iterdir() if path.is_file()] == []

    def test_a_file_that_cannot_be_read_to_its_end_ends_the_upload(self, backend: Backend) -> None:
        sender = Sender(backend, b'prompt,answer\n1,2\n3,"4\n', filename="open.csv")
        sender.put(1)
        assert "faults" not in refused(sender.complete(skip_bad_rows=True), 422, "invalid_csv")
        assert sender.state()["status"] == "refused"

    def test_a_cancelled_upload_takes_nothing_more(self, backend: Backend) -> None:
        sender = Sender(backend, rows(60, start=7000))
        sender.put(1)
        assert backend.api.post(f"/uploads/{sender.id}/cancel").json()["status"] == "cancelled"
        refused(sender.put(1), 409, "upload_not_pending")
        refused(sender.complete(), 409, "upload_not_pending")
        assert Sender(backend, sender.content).id != sender.id

    def test_urls_of_a_bucket_are_not_there(self, backend: Backend) -> None:
        sender = Sender(backend, rows(10, start=8000))
        answer = backend.api.post(f"/uploads/{sender.id}/parts/1/url", params={"sha256": "0" * 64})
        refused(answer, 409, "not_direct")

    def test_too_large_a_file_is_refused_before_a_part_is_sent(self, backend: Backend) -> None:
        body = {"filename": "a.jsonl", "bytes": backend.settings.upload_limit_bytes + 1}
        refused(backend.api.post("/uploads", json=body), 413, "file_too_large")

    def test_an_unfinished_one_is_swept_a_day_after_its_last_part(self, backend: Backend) -> None:
        sender = Sender(backend, rows(60, start=9000))
        backend.sql("UPDATE upload SET expires_at = now() + interval '1 minute' WHERE id = %s", sender.id)
        sender.put(1)
        [(left,)] = backend.sql(
            "SELECT extract(epoch FROM expires_at - now()) FROM upload WHERE id = %s", sender.id
        )
        assert 86_000 < left <= 86_400
        backend.sql("UPDATE upload SET expires_at = now() WHERE id = %s", sender.id)
        refused(sender.put(2), 409, "upload_not_pending")
        sweep(backend)
        assert sender.state()["status"] == "expired"
        assert backend.sql("SELECT count(*) FROM upload_part WHERE upload_id = %s", sender.id) == [(0,)]
        backend.sql(
            "UPDATE stored_object SET touched_at = now() - interval '2 days' WHERE sha256 = %s",
            digest(sender.part(1)),
        )
        backend.sweep_objects()
        assert backend.sql(
            "SELECT count(*) FROM stored_object WHERE sha256 = %s", digest(sender.part(1))
        ) == [(0,)]

    def test_each_surface_has_its_own_uploads(self, backend: Backend) -> None:
        sender = Sender(backend, rows(10, start=9500))
        with backend.client(backend.api.headers["authorization"].removeprefix("Bearer "), "/v1") as wire:
            answer = wire.post(f"/uploads/{sender.id}/cancel")
        assert answer.status_code == 404, answer.text


def test_a_backend_that_died_in_the_middle_goes_on(
    database_url: str, tmp_path: Path, small_parts: None
) -> None:
    content = rows(100, start=20_000)
    with Backend(database_url, tmp_path) as backend:
        first = Sender(backend, content)
        first.put(1)
        first.put(3)
    with Backend(database_url, tmp_path) as backend:
        again = Sender(backend, content)
        assert (again.id, again.upload["missing"]) == (first.id, [2, 4, 5])
        for number in again.upload["missing"]:
            again.put(number)
        assert again.complete().json()["dataset"]["rows"] == 100


@pytest.fixture(scope="module")
def s3(s3_environment: str) -> Any:
    return boto3.client("s3", endpoint_url=s3_environment, region_name="us-east-1")


def in_bucket(s3: Any, bucket: str, upload: str) -> tuple[bool, bool]:
    """Whether an upload has an object there, and one that is begun and not complete."""
    key = f"some/prefix/uploads/{upload}"
    objects = s3.list_objects_v2(Bucket=bucket, Prefix=key).get("Contents", ())
    begun = s3.list_multipart_uploads(Bucket=bucket).get("Uploads", ())
    return bool(objects), key in [entry["Key"] for entry in begun]


class TestStraightToTheBucket:
    @pytest.fixture(autouse=True)
    def parts_of_5_mib(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(numbered_parts, "PART_BYTES", LARGE)

    def test_parts_go_to_the_bucket_and_one_through_the_server(
        self, on_s3: Backend, s3: Any, bucket: str
    ) -> None:
        content = long_rows(11 * 1024**2)
        sender = Sender(on_s3, content)
        assert (sender.upload["direct"], sender.upload["part_count"]) == (True, 3)
        assert sender.put_straight(3).status_code == 200
        assert in_bucket(s3, bucket, sender.id) == (False, True)
        assert sender.state()["missing"] == [1, 2], "the bucket says what has arrived"
        assert sender.put(1).status_code == 200, "a client that cannot reach the bucket sends through here"
        refused(sender.complete(), 422, "missing_parts")
        again = Sender(on_s3, content)
        assert (again.id, again.upload["missing"]) == (sender.id, [2])
        assert again.put_straight(2).status_code == 200
        made = again.complete().json()["dataset"]
        assert made["sha256"] == digest(content)
        assert on_s3.api.get(f"/datasets/{made['id']}/content").content == content
        assert in_bucket(s3, bucket, sender.id) == (False, False)

    def test_an_announced_part_that_never_came_is_missing(self, on_s3: Backend) -> None:
        sender = Sender(on_s3, long_rows(6 * 1024**2, 1))
        sender.put_straight(1, data=sender.part(1)[:100])  # cut off
        assert sender.state()["missing"] == [1, 2]

    def test_wrong_bytes_in_the_bucket_are_detected_at_the_end(
        self, on_s3: Backend, s3: Any, bucket: str
    ) -> None:
        before = datasets(on_s3)
        content = long_rows(6 * 1024**2, 2)
        sender = Sender(on_s3, content)
        sender.put_straight(1, data=b" " * LARGE)
        sender.put_straight(2)
        if sender.state()["missing"]:  # a bucket that checks has refused it at once
            return
        refused(sender.complete(), 422, "part_mismatch")
        assert (sender.state()["status"], datasets(on_s3)) == ("refused", before)
        assert in_bucket(s3, bucket, sender.id) == (False, False)

    def test_an_end_that_broke_off_in_the_middle_goes_on(self, on_s3: Backend, s3: Any, bucket: str) -> None:
        content = long_rows(6 * 1024**2, 3)
        sender = Sender(on_s3, content)
        for number in (1, 2):
            sender.put_straight(number)
        # The backend completes the parts, then dies before the dataset is stored.
        store = configured_store(on_s3.settings)
        [(begun,)] = on_s3.sql("SELECT bucket_upload FROM upload WHERE id = %s", sender.id)
        assert store.parts is not None
        store.parts.complete(f"uploads/{sender.id}", begun)
        assert sender.state()["missing"] == []
        assert sender.complete().json()["dataset"]["sha256"] == digest(content)
        assert in_bucket(s3, bucket, sender.id) == (False, False)

    def test_cancelled_and_expired_ones_leave_nothing_in_the_bucket(
        self, on_s3: Backend, s3: Any, bucket: str
    ) -> None:
        cancelled, expired = (Sender(on_s3, long_rows(6 * 1024**2, seed)) for seed in (4, 5))
        for sender in (cancelled, expired):
            sender.put_straight(1)
        assert in_bucket(s3, bucket, cancelled.id) == in_bucket(s3, bucket, expired.id) == (False, True)
        on_s3.api.post(f"/uploads/{cancelled.id}/cancel")
        on_s3.sql("UPDATE upload SET expires_at = now() WHERE id = %s", expired.id)
        sweep(on_s3)
        assert in_bucket(s3, bucket, cancelled.id) == in_bucket(s3, bucket, expired.id) == (False, False)


def long_rows(size: int, seed: int = 0) -> bytes:
    """JSONL of at least `size` bytes, other ones for each seed."""
    line = json.dumps({"prompt": f"{seed} {'word ' * 2000}", "answer": "1"}).encode() + b"\n"
    return line * (size // len(line) + 1)
