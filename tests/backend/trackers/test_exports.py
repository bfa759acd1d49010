"""Export of jobs to MLflow: as steps arrive, once, after failures, and never in the way of a job."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backend.data.database import Database
from backend.data.sealing import Sealer
from backend.trackers import exporter, mlflow
from backend.trackers.exporter import JobExports, pause
from reinforge.net.outbound import Guard
from tests.backend.people import refusal
from tests.backend.server import Backend, refused, wait_until
from tests.support.mlflow_stub import MlflowStub

KEY = "secret of the tracker"
STEP_KEY = "reward/mean"


@pytest.fixture(scope="module")
def backend(module_database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    home = tmp_path_factory.mktemp("home")
    with Backend(module_database_url, home, url="https://rf.example.org") as running:
        running.register()
        yield running


@pytest.fixture
def stub(backend: Backend) -> Iterator[MlflowStub]:
    backend.sql("DELETE FROM tracker")
    server = MlflowStub()
    yield server
    server.close()


def add_tracker(backend: Backend, stub: MlflowStub, **fields: Any) -> dict[str, Any]:
    body = {"name": "team", "kind": "mlflow", "url": stub.url, "destination": "sums", "api_key": KEY} | fields
    response = backend.api.post("/trackers", json=body)
    assert response.status_code == 201, response.text
    made: dict[str, Any] = response.json()
    return made


def send(backend: Backend, **settings: Any) -> int:
    """What the background process does every two seconds, once."""

    async def once() -> int:
        database = Database(backend.database_url, pool_size=4)
        changed = backend.settings.model_copy(update=settings)
        try:
            return await JobExports(database, Sealer(changed), changed).send_due()
        finally:
            await database.close()

    backend.sql("UPDATE job_export SET next_at = now()")
    return asyncio.run(once())


def job_with_steps(backend: Backend, steps: int, **changes: Any) -> tuple[str, Any]:
    with backend.rpc_worker():
        job = backend.create_job(**changes)
    trainer = backend.claim(job)
    trainer.start()
    for step in range(1, steps + 1):
        trainer.step(step)
    return job, trainer


def finish(trainer: Any, step: int, outcome: str = "succeeded") -> None:
    trainer.checkpoint(step, 1.0, final=True)
    trainer.end(outcome)


def exports(backend: Backend, job: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = backend.api.get(f"/jobs/{job}/exports").json()["data"]
    return listed


def test_a_job_names_its_trackers(backend: Backend, stub: MlflowStub) -> None:
    for name, every_job in (("team", False), ("all", True), ("other", False)):
        add_tracker(backend, stub, name=name, every_job=every_job)
    with backend.rpc_worker():
        job = backend.create_job(export=["team", "all"])
        assert sorted(one["tracker"] for one in exports(backend, job)) == ["all", "team"]
        answer = backend.api.post("/jobs", json=backend.spec(export=["team", "nowhere"]))
        refused(answer, "export[1]", "tracker_not_found")


@pytest.mark.parametrize("environment", ["single_turn", "tools", "agent"])
def test_a_job_is_exported_as_its_steps_arrive(backend: Backend, stub: MlflowStub, environment: str) -> None:
    add_tracker(backend, stub, every_job=True)
    job, trainer = job_with_steps(backend, 3, environment={"type": environment})
    backend.api.patch(f"/jobs/{job}", json={"add_tags": ["ablation"]}, headers={"if-match": "*"})
    assert send(backend) == 1
    run = stub.run
    # The newest step may still get held-out figures.
    assert [step for step, _ in run.points(STEP_KEY)] == [1, 2]
    assert run.status == "RUNNING"
    assert run.tags["reinforge.url"] == f"https://rf.example.org/jobs/{job}"
    assert run.tags["reinforge.tag.ablation"] == "true"
    assert run.params["limits.steps"] == "3"
    assert stub.authorizations == {f"Bearer {KEY}"}
    [export] = exports(backend, job)
    assert (export["state"], export["step"], export["error"]) == ("live", 2, None)
    assert export["url"].startswith(stub.url)
    finish(trainer, 3)
    send(backend)
    assert [step for step, _ in run.points(STEP_KEY)] == [1, 2, 3]
    assert run.status == "FINISHED"
    assert run.tags["reinforge.status"] == "succeeded"
    assert run.tags["reinforge.adapter"].startswith("adp_")
    assert exports(backend, job)[0]["state"] == "done"
    assert send(backend) == 0


def test_an_ended_job_is_exported_on_request(backend: Backend, stub: MlflowStub) -> None:
    add_tracker(backend, stub, username="ada")
    job, trainer = job_with_steps(backend, 3)
    finish(trainer, 3)
    assert exports(backend, job) == []
    assert backend.api.post(f"/jobs/{job}/exports", json={"tracker": "team"}).status_code == 201
    again = backend.api.post(f"/jobs/{job}/exports", json={"tracker": "team"}).json()
    send(backend)
    assert [step for step, _ in stub.run.points(STEP_KEY)] == [1, 2, 3]
    assert {str(value)[:6] for value in stub.authorizations} == {"Basic "}
    assert [export["id"] for export in exports(backend, job)] == [again["id"]]
    assert backend.api.delete(f"/jobs/{job}/exports/{again['id']}").status_code == 204
    assert exports(backend, job) == []
    missing = backend.api.post(f"/jobs/{job}/exports", json={"tracker": "none"})
    assert refusal(missing) == (404, "tracker_not_found")


def test_lost_answers_double_nothing(backend: Backend, stub: MlflowStub) -> None:
    add_tracker(backend, stub, every_job=True)
    job, trainer = job_with_steps(backend, 3)
    finish(trainer, 3)
    for path in ("experiments/create", "runs/create", "runs/log-batch", "runs/log-batch", "runs/update"):
        stub.lost.append(path)
    for _ in range(7):
        send(backend)
    assert stub.lost == []
    assert len(stub.runs) == len(stub.experiments) == 1
    assert [step for step, _ in stub.run.points(STEP_KEY)] == [1, 2, 3]
    assert exports(backend, job)[0]["state"] == "done"


def test_a_killed_background_process_doubles_and_loses_nothing(backend: Backend, stub: MlflowStub) -> None:
    add_tracker(backend, stub, every_job=True)
    job, trainer = job_with_steps(backend, 3)
    finish(trainer, 3)
    stub.hang = 60.0
    env = os.environ | {
        "REINFORGE_HOME": str(backend.home),
        "DATABASE_URL": backend.database_url,
        "REINFORGE_ALLOW_HOSTS": "127.0.0.1",
    }
    command = [sys.executable, "-m", "backend", "background"]
    process = subprocess.Popen(command, env=env, cwd=Path(__file__).parents[3])
    try:
        wait_until(lambda: bool(stub.runs) and bool(stub.run.metrics), "the metrics to arrive", 90)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert exports(backend, job)[0]["step"] is None
    stub.hang = 0.0
    assert send(backend) == 1
    assert len(stub.runs) == 1
    assert [step for step, _ in stub.run.points(STEP_KEY)] == [1, 2, 3]
    assert exports(backend, job)[0]["state"] == "done"


def test_a_failing_tracker_hurts_no_job_and_is_tried_again(backend: Backend, stub: MlflowStub) -> None:
    tracker = add_tracker(backend, stub, every_job=True)
    stub.refusal = 403
    job, trainer = job_with_steps(backend, 2)
    assert send(backend) == 1
    [export] = exports(backend, job)
    assert (export["state"], export["tries"]) == ("pending", 1)
    assert "403" in export["error"] and "not for you" in export["error"]
    finish(trainer, 3)
    assert backend.api.get(f"/jobs/{job}").json()["status"] == "succeeded"
    backend.sql("UPDATE job_export SET updated_at = now() - interval '4 days'")
    send(backend)
    assert exports(backend, job)[0]["state"] == "failed"
    # A changed key is tried at once.
    stub.refusal = None
    change = {"api_key": "another"}
    path = f"/trackers/{tracker['id']}"
    assert backend.api.patch(path, json=change, headers={"if-match": "*"}).status_code == 200
    send(backend)
    assert exports(backend, job)[0]["state"] == "done"
    assert stub.authorizations == {f"Bearer {KEY}", "Bearer another"}
    assert [12 <= pause(1) <= 18, pause(30) <= 3600 * 1.2] == [True] * 2


def test_retries_count_from_the_first_failure(backend: Backend, stub: MlflowStub) -> None:
    add_tracker(backend, stub, every_job=True)
    job, _ = job_with_steps(backend, 2)
    backend.sql("UPDATE job_export SET updated_at = now() - interval '4 days'")  # it was paused
    stub.refusal = 503
    send(backend)
    assert exports(backend, job)[0]["state"] == "pending"


@pytest.mark.parametrize(
    "answer", [{"x": 1}, {"experiment": 1}, {"experiment": {"experiment_id": "1"}, "runs": [1]}, [], ""]
)
def test_answers_of_another_server_are_a_failed_attempt(
    backend: Backend, stub: MlflowStub, answer: Any
) -> None:
    add_tracker(backend, stub, every_job=True)
    job, _ = job_with_steps(backend, 2)
    stub.odd = answer
    assert send(backend) == 1
    assert "MLflow" in exports(backend, job)[0]["error"]


def test_an_unexpected_error_ends_no_other_export(
    backend: Backend, stub: MlflowStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_tracker(backend, stub, every_job=True)
    job, _ = job_with_steps(backend, 2)
    other, _ = job_with_steps(backend, 2)
    create_run = mlflow._Server.create_run

    async def broken(server: Any, experiment: str) -> str:
        if server._batch.job_id == job:
            raise ZeroDivisionError
        return await create_run(server, experiment)

    monkeypatch.setattr(mlflow._Server, "create_run", broken)
    assert send(backend) == 2
    assert exports(backend, job)[0]["state"] == "pending"
    assert exports(backend, other)[0]["state"] == "live"


def test_a_slow_tracker_holds_up_an_attempt_for_a_limited_time(
    backend: Backend, stub: MlflowStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporter, "ATTEMPT_SECONDS", 1.0)
    add_tracker(backend, stub, every_job=True)
    job, _ = job_with_steps(backend, 2)
    stub.hang = 15.0
    send(backend)
    assert exports(backend, job)[0]["error"] == "The attempt took more than 1 s."


def test_a_fork_is_exported_from_a_late_step_on(backend: Backend, stub: MlflowStub) -> None:
    add_tracker(backend, stub, every_job=True)
    job, trainer = job_with_steps(backend, 3)
    finish(trainer, 3)
    series = "SELECT id FROM metric_series WHERE job_id = %s"
    backend.sql(f"UPDATE metric_point SET step = step + 1200 WHERE series_id IN ({series})", job)
    backend.sql("UPDATE job SET step = step + 1200 WHERE id = %s", job)
    for _ in range(3):
        send(backend)
    assert [step for step, _ in stub.run.points(STEP_KEY)] == [1201, 1202, 1203]
    assert exports(backend, job)[0]["state"] == "done"


def test_a_moved_tracker_gets_the_whole_job(backend: Backend, stub: MlflowStub) -> None:
    tracker = add_tracker(backend, stub, every_job=True)
    job, trainer = job_with_steps(backend, 3)
    finish(trainer, 3)
    log = stub.log

    def moved_meanwhile(*content: Any) -> Any:
        stub.log = log  # type: ignore[method-assign]
        body, match = {"destination": "products"}, {"if-match": "*"}
        assert backend.api.patch(f"/trackers/{tracker['id']}", json=body, headers=match).status_code == 200
        return log(*content)

    stub.log = moved_meanwhile  # type: ignore[method-assign]
    send(backend)
    [export] = exports(backend, job)
    assert (export["state"], export["step"], export["url"]) == ("pending", None, None)
    send(backend)
    first, second = stub.runs.values()
    assert first.experiment != second.experiment
    assert [step for step, _ in second.points(STEP_KEY)] == [1, 2, 3]
    assert exports(backend, job)[0]["state"] == "done"


def test_addresses_inside_the_network_are_refused(
    backend: Backend, stub: MlflowStub, database_url: str, tmp_path: Path
) -> None:
    with Backend(database_url, tmp_path, allow_hosts="") as strict:
        for url in (stub.url, "http://169.254.169.254", "http://[::ffff:10.0.0.1]"):
            body = {"name": "x", "kind": "mlflow", "url": url, "destination": "sums"}
            refused(strict.api.post("/trackers", json=body), "url", "url_not_allowed")
    for url in ("ftp://example.org", "https://user:secret@example.org", "https://example.org/?x=1"):
        body = {"name": "x", "kind": "mlflow", "url": url, "destination": "sums"}
        assert backend.api.post("/trackers", json=body).status_code == 422, url
    # A name that leads elsewhere by now is looked up, and refused, at every attempt.
    add_tracker(backend, stub, every_job=True)
    job, _ = job_with_steps(backend, 2)
    strict_settings = backend.settings.model_copy(update={"allow_hosts": ""})
    strict_settings.__dict__["guard"] = Guard.allowing("")
    backend.sql("UPDATE job_export SET next_at = now()")

    async def once() -> None:
        database = Database(backend.database_url, pool_size=2)
        await JobExports(database, Sealer(strict_settings), strict_settings).send_due()
        await database.close()

    asyncio.run(once())
    assert "inside a network" in exports(backend, job)[0]["error"]
    assert stub.runs == {}


def test_a_key_is_in_no_message(backend: Backend, stub: MlflowStub) -> None:
    body = {"name": "team", "kind": "mlflow", "url": stub.url, "destination": "sums", "api_key": f"{KEY}\n"}
    response = backend.api.post("/trackers", json=body)
    assert response.status_code == 422
    assert KEY not in response.text
    add_tracker(backend, stub, every_job=True, api_key="schlüssel")
    job, _ = job_with_steps(backend, 2)
    stub.refusal, stub.message = 401, "schlüssel is no token"
    send(backend)
    assert exports(backend, job)[0]["error"].endswith("… is no token")


def test_keys_are_stored_encrypted_and_sent_to_no_other_address(backend: Backend, stub: MlflowStub) -> None:
    tracker = add_tracker(backend, stub)
    stored = str(backend.sql("SELECT row_to_json(tracker) FROM tracker"))
    assert KEY not in stored + backend.api.get("/trackers").text
    assert tracker["has_key"] is True
    path, match = f"/trackers/{tracker['id']}", {"if-match": "*"}
    moved = backend.api.patch(path, json={"url": f"{stub.url}/else"}, headers=match)
    refused(moved, "api_key", "key_needed")
    for role in ("editor", "viewer"):
        with backend.add_key(role) as client:
            body = {"name": "y", "kind": "mlflow", "url": stub.url, "destination": "sums"}
            assert client.post("/trackers", json=body).status_code == 403
            assert client.patch(path, json={"destination": "x"}, headers=match).status_code == 403
            assert client.delete(path).status_code == 403
    assert backend.api.delete(path).status_code == 204
