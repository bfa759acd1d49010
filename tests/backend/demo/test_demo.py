"""The demo job: created once from its files, reused, and started by itself in a project without jobs."""

import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from reinforge.offline import demo, jobfile
from reinforge.offline.examples import spec_hash
from tests.backend.server import Backend, wait_until


def start(backend: Backend) -> httpx.Response:
    return backend.api.post("/demo")


def jobs(backend: Backend) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = backend.api.get("/jobs", params={"limit": 100}).json()["data"]
    return listed


def end_all(backend: Backend) -> None:
    """What other tests left to be found again."""
    for job in jobs(backend):
        backend.api.post(f"/jobs/{job['id']}/cancel")


def test_the_demo_is_created_once_and_reused(backend: Backend) -> None:
    end_all(backend)
    with backend.rpc_worker():
        made = start(backend)
        assert made.status_code == 201, made.text
        again = start(backend)
    assert (again.status_code, again.json()["id"]) == (200, made.json()["id"])
    job = made.json()
    assert (job["name"], job["status"], job["created_by"]) == (demo.NAME, "queued", "bootstrap")
    assert job["resolved_spec"]["data"]["held_out"].startswith("file-")
    assert job["resolved_spec"]["rewards"][0]["reward"].startswith("rew_")
    mark = spec_hash(jobfile.load(demo.job_file()))
    assert job["spec"]["metadata"] == {"demo": mark}, "as the command line marks it"
    assert backend.api.get("/project/counts").json()["demo_job"] == job["id"]


def test_an_ended_demo_is_created_again_from_what_exists(backend: Backend) -> None:
    end_all(backend)
    with backend.rpc_worker():
        first = start(backend).json()["id"]
        before = backend.api.get("/project/counts").json()
        assert backend.api.post(f"/jobs/{first}/cancel").status_code == 200
        second = start(backend)
    assert (second.status_code, second.json()["id"] != first) == (201, True)
    after = backend.api.get("/project/counts").json()
    assert (after["datasets"], after["rewards"]) == (before["datasets"], before["rewards"])


def test_a_paused_one_goes_on(backend: Backend) -> None:
    end_all(backend)
    with backend.rpc_worker():
        job = start(backend).json()["id"]
        trainer = backend.claim(job)
        trainer.start()
        trainer.end("paused", reason="reward_errors", message="All rows failed.")
        again = start(backend).json()
    assert (again["id"], again["status"]) == (job, "queued")


def test_two_at_once_make_one_job(backend: Backend) -> None:
    end_all(backend)
    answers: list[httpx.Response] = []
    with backend.rpc_worker():
        threads = [threading.Thread(target=lambda: answers.append(start(backend))) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert sorted(answer.status_code for answer in answers) == [200, 200, 201]
    assert len({answer.json()["id"] for answer in answers}) == 1


def test_without_a_worker_or_the_right_it_is_refused(backend: Backend) -> None:
    end_all(backend)
    refused = start(backend)
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "no_worker")
    with backend.add_key("viewer") as viewer:
        assert viewer.post("/demo").status_code == 403


# ── By itself ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_project_without_jobs_starts_it_as_soon_as_a_worker_is_there(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backend.demo.service._AGAIN_SECONDS", 0.1)
    with Backend(database_url, tmp_path / "home", first_demo=True) as backend:
        assert (tmp_path / "home" / "first-demo").exists()
        backend.register()
        assert jobs(backend) == []
        with backend.rpc_worker():
            [job] = wait_until(lambda: jobs(backend), "the demo job")
        assert (job["name"], job["created_by"]) == (demo.NAME, "reinforge up")
        assert backend.api.post(f"/jobs/{job['id']}/cancel").status_code == 200
    with Backend(database_url, tmp_path / "home", first_demo=True) as again, again.rpc_worker() as rpc_worker:
        assert not (tmp_path / "home" / "first-demo").exists()
        assert len(jobs(again)) == 1
        assert {kind for kind, _ in rpc_worker.calls} <= {"inspect_model"}


def test_it_is_skipped_unless_it_is_enabled(database_url: str, tmp_path: Path) -> None:
    with Backend(database_url, tmp_path / "home") as backend:
        assert not (tmp_path / "home" / "first-demo").exists()
        backend.register()
        with backend.rpc_worker() as rpc_worker:
            wait_until(lambda: rpc_worker.calls, "the built-in model to be looked at")
        assert jobs(backend) == []


def test_who_is_quicker_with_a_job_gets_no_demo(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "backend.demo.service._AGAIN_SECONDS", 3600.0
    )  # it looks once, finds nobody, and sleeps
    checked = threading.Event()
    monkeypatch.setattr("backend.demo.service.log.debug", lambda *_: checked.set())
    with Backend(database_url, tmp_path / "home", first_demo=True) as backend:
        assert checked.wait(60)
        backend.register()
        with backend.rpc_worker():
            own = backend.create_job()
    monkeypatch.setattr("backend.demo.service._AGAIN_SECONDS", 0.1)
    with Backend(database_url, tmp_path / "home", first_demo=True) as backend, backend.rpc_worker():
        assert [job["id"] for job in jobs(backend)] == [own]
        assert not (tmp_path / "home" / "first-demo").exists()


def test_an_installation_without_the_files_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(demo, "_HERE", tmp_path)
    with pytest.raises(Exception, match="did not come with this installation"):
        demo.job_file()
    inside = tmp_path / "examples" / "arithmetic" / "job.yaml"
    inside.parent.mkdir(parents=True)
    inside.touch()
    assert demo.job_file() == inside
