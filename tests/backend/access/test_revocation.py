"""Streams, downloads and uploads end when their sender's right ends, not when they are over by themselves."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.backend.people import made, sign_in
from tests.backend.server import Backend, wait_until

pytestmark = pytest.mark.usefixtures("rpc_backend")


class Stream(threading.Thread):
    """A client that reads a job's live stream until it ends."""

    def __init__(self, client: httpx.Client, job: str) -> None:
        super().__init__(daemon=True)
        self.client, self.job = client, job
        self.opened, self.ended = threading.Event(), threading.Event()
        self.start()
        assert self.opened.wait(20), "the stream did not open"

    def run(self) -> None:
        with (
            contextlib.suppress(httpx.ReadError),  # the test closes its client
            self.client.stream("GET", f"/jobs/{self.job}/stream") as response,
        ):
            assert response.status_code == 200
            for _ in response.iter_bytes():
                self.opened.set()
        self.ended.set()


@pytest.fixture(autouse=True)
def count_lookups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backend.access.admission.RECHECK_SECONDS", 0.2)


@pytest.fixture
def person(backend: Backend) -> Iterator[tuple[dict[str, Any], httpx.Client]]:
    member = made(backend.api.post("/members", json={"name": "Mona", "role": "editor"}))
    with sign_in(backend, member["url"]) as client:
        yield member, client
    backend.api.delete(f"/members/{member['id']}")


def revoke_key(backend: Backend, key: dict[str, Any]) -> None:
    assert backend.api.delete(f"/keys/{key['id']}").status_code == 204


def expire_key(backend: Backend, key: dict[str, Any]) -> None:
    backend.sql("UPDATE api_key SET expires_at = now() - interval '1 second' WHERE id = %s", key["id"])


@pytest.mark.parametrize("end", [revoke_key, expire_key])
def test_a_live_stream_ends_with_its_key(
    backend: Backend, end: Callable[[Backend, dict[str, Any]], None]
) -> None:
    key = made(backend.api.post("/keys", json={"name": "watcher", "role": "viewer"}))
    with backend.client(key["key"], "/api/v1") as client:
        stream = Stream(client, backend.create_job())
        end(backend, key)
        assert stream.ended.wait(20), "the stream went on"
        assert client.get("/me").status_code == 401


def test_a_live_stream_ends_with_the_membership(
    backend: Backend, person: tuple[dict[str, Any], httpx.Client]
) -> None:
    member, client = person
    stream = Stream(client, backend.create_job())
    assert backend.api.delete(f"/members/{member['id']}").status_code == 204
    assert stream.ended.wait(20), "the stream went on"


def test_a_stream_goes_on_while_its_reader_looks_at_another_project(
    backend: Backend, person: tuple[dict[str, Any], httpx.Client]
) -> None:
    member, client = person
    other = made(backend.api.post("/projects", json={"name": "elsewhere"}))["id"]
    backend.sql(
        "INSERT INTO member (id, project_id, user_id, role, created_at) VALUES ('mem_x', %s, %s, 'viewer', now())",
        other,
        member["user"],
    )
    stream = Stream(client, backend.create_job())
    made(client.post(f"/projects/{other}/switch"), 200)
    assert not stream.ended.wait(1.5), "it ended though its reader may still see the job"
    backend.sql("DELETE FROM member WHERE id = 'mem_x'")


def test_an_upload_ends_with_its_key(backend: Backend) -> None:
    key = made(backend.api.post("/keys", json={"name": "uploader", "role": "editor"}))
    revoked = threading.Event()

    def end() -> None:
        revoke_key(backend, key)
        revoked.set()

    def rows() -> Iterator[bytes]:
        yield b'--b\r\ncontent-disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n'
        while not revoked.wait(0.05):
            yield b'{"prompt": "1+1=", "answer": "2"}\n'
        for _ in range(30):
            yield b'{"prompt": "1+1=", "answer": "2"}\n'
            time.sleep(0.05)
        yield b"\r\n--b--\r\n"

    threading.Timer(0.5, end).start()
    with backend.client(key["key"], "/api/v1") as client:
        response = client.post(
            "/datasets", content=rows(), headers={"content-type": "multipart/form-data; boundary=b"}
        )
    assert response.status_code == 401, response.text
    wait_until(
        lambda: not list((backend.home / "uploads").glob("upload-*")), "what has arrived to be removed"
    )


def test_a_slow_upload_of_an_authenticated_sender_is_not_ended(backend: Backend) -> None:
    """Several lookups and pauses long."""

    def rows() -> Iterator[bytes]:
        yield b'--b\r\ncontent-disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n'
        for _ in range(20):
            yield b'{"prompt": "1+1=", "answer": "2"}\n'
            time.sleep(0.05)
        yield b"\r\n--b--\r\n"

    response = backend.api.post(
        "/datasets", content=rows(), headers={"content-type": "multipart/form-data; boundary=b"}
    )
    assert (response.status_code, response.json()["rows"]) == (201, 20), response.text
