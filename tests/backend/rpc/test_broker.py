"""An unreachable broker: readiness, queued jobs and workers report it, and no request waits for it."""

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reinforge.net import broker
from reinforge.net.broker import BrokerState, look, wake_up_problem
from tests.backend.server import Backend
from tests.support.processes import eventually
from tests.support.redis import redis_server

NOBODY = "redis://:hush-hush@127.0.0.1:1/0"
OTHER_FOLDER = {"kind": "folder", "address": "/other/broker", "id": "b"}


def ready(backend: Backend) -> tuple[int, dict[str, Any]]:
    answer = backend.bare.get("/readyz")
    return answer.status_code, answer.json()["parts"]


def test_a_dead_redis_is_reported_by_readiness_and_by_the_waiting_job(
    database_url: str, tmp_path: Path
) -> None:
    with Backend(database_url, tmp_path, redis_url=NOBODY) as backend, backend.rpc_worker():
        backend.register("wrk_1")
        status, parts = ready(backend)
        assert (status, parts["broker"]["ready"], parts["database"]["ready"]) == (503, False, True)
        assert parts["broker"]["message"].startswith("The queue (Redis) does not answer: ")
        job = backend.create_job()
        place = backend.job(job)["queue"]
        assert place["reason"] == "about_to_start"
        assert place["notice"].startswith("The queue (Redis) does not answer: ")
        assert place["notice"].endswith("Until this is fixed, free workers look for jobs every 5 s.")
        assert backend.api.get("/jobs").json()["data"][0]["queue"] == place
        assert "hush-hush" not in f"{parts}{place}"


def test_a_redis_that_accepts_and_stays_silent_holds_up_nothing(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker, "ANSWER_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        with Backend(database_url, tmp_path, redis_url=url) as backend:
            probe = threading.Thread(target=ready, args=(backend,))
            probe.start()
            assert backend.bare.get("/healthz").status_code == 200
            probe.join(30)
            status, parts = ready(backend)
            assert (status, parts["broker"]["ready"]) == (503, False)


@pytest.fixture
def folder_backend(database_url: str, tmp_path: Path) -> Iterator[Backend]:
    with Backend(database_url, tmp_path) as backend:
        yield backend


def test_a_folder_that_cannot_be_used_makes_not_ready(folder_backend: Backend) -> None:
    assert ready(folder_backend)[1]["broker"] == {"ready": True, "kind": "folder"}
    folder = folder_backend.home / "broker"
    moved = folder.rename(folder_backend.home / "aside")
    folder.write_text("in the way")
    status, parts = ready(folder_backend)
    assert (status, parts["broker"]["ready"]) == (503, False)
    assert parts["broker"]["message"] == f"The queue (the folder {folder}) cannot be used: File exists"
    folder.unlink()
    moved.rename(folder)
    assert ready(folder_backend)[0] == 200


def test_a_worker_with_another_queue_is_named_with_the_remedy(folder_backend: Backend) -> None:
    own = look(None, folder_backend.home / "broker").model_dump()
    folder_backend.register("wrk_same", broker=own)
    folder_backend.register("wrk_old")
    folder_backend.register("wrk_other", broker=OTHER_FOLDER)
    folder_backend.register("wrk_dead", broker=look(NOBODY, Path("/none")).model_dump())
    training = ready(folder_backend)[1]["worker"]
    assert (training["online"], training["without_wake_ups"]) == (4, 2)
    assert "GET /api/v1/workers" in training["message"]
    eventually(lambda: folder_backend.app.state.broker.state is not None)
    notices = {worker["id"]: worker["notice"] for worker in folder_backend.api.get("/workers").json()["data"]}
    assert notices["wrk_same"] is None
    assert notices["wrk_old"] is None
    assert "it reads them from the folder /other/broker" in notices["wrk_other"]
    assert "REINFORGE_HOME" in notices["wrk_other"]
    assert notices["wrk_dead"].startswith("The queue (Redis) does not answer: ")
    assert "hush-hush" not in str(notices)


def test_two_urls_of_one_redis_are_one_broker(tmp_path: Path) -> None:
    with redis_server(tmp_path) as (url, port):
        one, same = look(url, tmp_path), look(f"redis://localhost:{port}/0", tmp_path)
        other = look(f"redis://127.0.0.1:{port}/1", tmp_path)
    assert one.id is not None
    assert wake_up_problem(one, same) is None
    assert "REDIS_URL" in (wake_up_problem(other, one) or "")


def test_nothing_is_claimed_about_what_is_unknown() -> None:
    folder = BrokerState(kind="folder", address="/a", id="a")
    assert wake_up_problem(folder, None) is None
    assert wake_up_problem(folder, BrokerState(kind="redis", address="redis://b", error="gone")) is None


def test_an_unanswered_probe_ends(folder_backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a network file system that hangs."""
    release = threading.Event()
    monkeypatch.setattr("backend.rpc.broker._WITHIN_SECONDS", 0.2)
    monkeypatch.setattr("backend.rpc.broker.look", lambda *_: release.wait(30))
    begin = time.monotonic()
    status, parts = ready(folder_backend)
    release.set()
    assert (status, parts["broker"]["message"].rpartition(": ")[2]) == (503, "no answer within 0 s")
    assert time.monotonic() - begin < 20
