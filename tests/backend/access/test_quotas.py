"""Quotas of a key and a project for concurrent work, and users below them."""

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from backend.access.quotas import Bounds, RequestSender, RequestTicket
from backend.settings import Settings
from reinforge.errors import TooManyRequests
from tests.backend.access.test_admission import Line
from tests.backend.server import OWNER_KEY, REWARD, WORKER_TOKEN, Backend, wait_until

MIB = 1024**2


@pytest.fixture(scope="module")
def narrow(module_database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    """A platform with small limits, which its worker token is not subject to."""
    limits = {"key_requests": 8, "project_requests": 12, "key_streams": 2, "project_streams": 3}
    limits |= {"project_body_bytes": 16 * MIB, "project_upload_bytes": 1, "upload_limit_bytes": 32 * MIB}
    home = tmp_path_factory.mktemp("home")
    with Backend(module_database_url, home, project_calls=2, **limits) as running:
        running.register()
        yield running


@contextlib.contextmanager
def unfinished(
    backend: Backend, count: int, length: int = 100, token: str = OWNER_KEY
) -> Iterator[list[Line]]:
    """Requests whose bodies do not come."""
    lines = [Line(backend) for _ in range(count)]
    try:
        for line in lines:
            line.head("POST", "/api/v1/jobs", length=length, token=token)
        yield lines
    finally:
        for line in lines:
            line.socket.close()


def refusal(response: httpx.Response) -> str:
    """The code of a 429, which says what to do and when."""
    assert response.status_code == 429, response.text
    error = response.json()["error"]
    assert error["type"] == "rate_limit_error"
    assert "REINFORGE_" in error["hint"]
    assert int(response.headers["retry-after"]) > 0
    code: str = error["code"]
    return code


def amount(backend: Backend, thing: str) -> int:
    return max((n for (kind, _), n in backend.app.state.bounds._amounts.items() if kind == thing), default=0)


def test_a_key_has_so_many_requests_under_way(narrow: Backend) -> None:
    other = narrow.add_key("viewer")
    with unfinished(narrow, 8):
        wait_until(lambda: amount(narrow, "requests") == 8, "the requests")
        assert refusal(narrow.api.get("/me")) == "too_many_requests"
        assert other.get("/me").status_code == 200, "another key of the project"
        assert narrow.worker_api.post("/jobs/claim", json={"worker": "wrk_test"}).status_code != 429
        assert narrow.bare.get("/healthz").status_code == 200
    wait_until(lambda: narrow.api.get("/me").status_code == 200, "the requests to be over")


def test_a_project_has_so_many_over_all_its_keys(narrow: Backend) -> None:
    elsewhere = narrow.api.post("/projects", json={"name": "elsewhere"}).json()["id"]
    key = narrow.add_key("editor")
    secret = key.headers["authorization"].removeprefix("Bearer ")
    with unfinished(narrow, 6), unfinished(narrow, 6, token=secret):
        wait_until(lambda: amount(narrow, "requests") == 12, "the requests")
        assert refusal(key.get("/me")) == "too_many_requests"
        assert refusal(narrow.add_key("viewer").get("/me")) == "too_many_requests"
        assert narrow.api.get("/me", headers={"x-reinforge-project": elsewhere}).status_code == 200
    wait_until(lambda: amount(narrow, "requests") == 0, "nothing to be left over")


def test_a_project_holds_so_many_bytes_of_bodies(narrow: Backend) -> None:
    with unfinished(narrow, 1, 12 * MIB):
        wait_until(lambda: amount(narrow, "body_bytes") == 12 * MIB, "the body")
        [line] = [Line(narrow)]
        line.head("POST", "/api/v1/jobs", length=5 * MIB, token=OWNER_KEY)
        assert line.answer() == (429, "too_many_bytes")
        chunked = narrow.api.post("/jobs", content=(b" " * MIB for _ in range(5)))
        assert refusal(chunked) == "too_many_bytes", "counted as it arrives, where no length is announced"
        assert narrow.api.post("/jobs", json={}).status_code == 422
    wait_until(lambda: not narrow.app.state.bounds._amounts, "nothing to be left over")


def test_files_have_bytes_of_their_own(narrow: Backend) -> None:
    line = Line(narrow)
    form = "multipart/form-data; boundary=x"  # another type is refused at once, without waiting for the body
    line.head("POST", "/api/v1/datasets", length=30 * MIB, token=OWNER_KEY, content_type=form)
    wait_until(lambda: amount(narrow, "upload_bytes") == 30 * MIB, "the upload")
    assert refusal(narrow.api.post("/datasets", content=b" " * 3 * MIB)) == "too_many_bytes"
    assert amount(narrow, "body_bytes") == 0
    line.socket.close()
    wait_until(lambda: not narrow.app.state.bounds._amounts, "nothing to be left over")


def test_live_streams_are_counted_apart(narrow: Backend) -> None:
    with narrow.rpc_worker():
        job = narrow.create_job()
    address = f"/jobs/{job}/stream"
    with contextlib.ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(narrow.api.stream("GET", address))
        assert amount(narrow, "requests") == 0
        assert refusal(narrow.api.get(address)) == "too_many_streams"
        sampling = {"model": "tiny", "messages": [{"role": "user", "content": "hi"}], "stream": True}
        with narrow.client(OWNER_KEY, "/v1") as wire:
            assert refusal(wire.post("/chat/completions", json=sampling)) == "too_many_streams"
        assert narrow.api.get(f"/jobs/{job}").status_code == 200
        viewers = [narrow.add_key("viewer") for _ in range(2)]
        stack.enter_context(viewers[0].stream("GET", address))
        assert refusal(viewers[1].get(address)) == "too_many_streams", "over all keys of the project"
    wait_until(lambda: amount(narrow, "streams") == 0, "the streams to end")


def test_a_project_has_so_many_calls_waiting(narrow: Backend) -> None:
    narrow.register("wrk_busy", "calls")
    body = {"name": "r", "source": REWARD}
    waiting = "SELECT count(*) FROM call WHERE state = 'waiting' AND project_id IS NOT NULL"
    with ThreadPoolExecutor(2) as pool:
        held = [pool.submit(narrow.api.post, "/rewards", json=body) for _ in range(2)]
        wait_until(lambda: narrow.sql(waiting) == [(2,)], "two calls to wait")
        assert refusal(narrow.api.post("/rewards", json=body)) == "too_many_calls"
        with narrow.rpc_worker():
            assert [call.result().status_code for call in held] == [201, 201]
    narrow.sql("DELETE FROM worker WHERE id = 'wrk_busy'")


def test_a_large_user_meets_no_limit(tmp_path: Path) -> None:
    """By the defaults: 300 streams, a file of 4 GiB, a hundred waiting requests and more of one key."""
    settings = Settings(home=tmp_path)
    bounds, sender = Bounds(settings), RequestSender("key_one", "proj_one")
    streams = [RequestTicket(bounds, sender) for _ in range(300)]
    for member in streams:
        member.become_stream()
    uploads = [RequestTicket(bounds, sender) for _ in range(4)]
    for member in uploads:
        member.hold(settings.upload_limit_bytes, file=True)
    waiting = [RequestTicket(bounds, sender) for _ in range(400)]
    for member in waiting[:16]:
        member.hold(16 * MIB, file=False)
    with pytest.raises(TooManyRequests):
        waiting[16].hold(1, file=False)
    for member in (*streams, *uploads, *waiting):
        member.close()
    assert not bounds._amounts


def test_the_worker_token_is_not_counted(narrow: Backend) -> None:
    with unfinished(narrow, 16, token=WORKER_TOKEN) as lines:
        for line in lines[:1]:
            assert line.answer()[0] == 401, "unknown as a key, so never counted"
    assert amount(narrow, "requests") == 0
