"""The Celery process: a wake-up in the folder broker runs a job; going down leaves nothing behind."""

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from celery import Celery

from tests.support.redis import redis_server
from tests.support.supervised import DATASET, TOY, is_running, wait_for
from tests.support.worker_api_stub import TOKEN, StubWorkerApi
from worker.celery_app import broker_configuration
from worker.folder_broker import Channel
from worker.settings import WorkerSettings

_PROGRAM = f"""
import os, sys
from worker import tasks
from worker.__main__ import main
tasks.POLL_SECONDS = float(os.environ.get("TEST_POLL_SECONDS", "3600"))
tasks.trainer_command = {TOY!r}
sys.exit(main([]))
"""


@pytest.fixture
def redis_url(tmp_path: Path) -> Iterator[str]:
    with redis_server(tmp_path) as (url, _):
        yield url


@pytest.fixture(params=["folder", "redis"])
def settings(tmp_path: Path, server: StubWorkerApi, request: pytest.FixtureRequest) -> WorkerSettings:
    redis_url = {"folder": None, "dead": "redis://127.0.0.1:1/0"}.get(request.param)
    if request.param == "redis":
        redis_url = request.getfixturevalue("redis_url")
    home = tmp_path / "home"
    return WorkerSettings(home=home, backend_url=server.url, worker_token=TOKEN, redis_url=redis_url)


@contextlib.contextmanager
def running_worker(settings: WorkerSettings, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    environment = os.environ | {
        "REINFORGE_HOME": str(settings.home),
        "REINFORGE_URL": settings.backend_url,
        "REINFORGE_WORKER_TOKEN": TOKEN,
        "SANDBOX_SOCKET": str(tmp_path / "no.sock"),
        "REDIS_URL": settings.redis_url or "",
    }
    with (tmp_path / "worker.log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-c", _PROGRAM], env=environment, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def worker(settings: WorkerSettings, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    with running_worker(settings, tmp_path) as process:
        yield process


def queue_job(server: StubWorkerApi, model: Path, job: str, script: str) -> None:
    model.mkdir(exist_ok=True)
    (model / "config.json").write_text("{}")
    (model / "model.safetensors").write_bytes(b"weights")
    server.state.queued[job] = {
        "job": job,
        "attempt": 1,
        "job_token": "job-token",
        "spec": {"metadata": {"script": script}},
        "model_source": str(model),
        "model_sha256": None,
        "dataset": {"sha256": hashlib.sha256(DATASET).hexdigest(), "bytes": len(DATASET)},
        "dataset_format": "jsonl",
        "rewards": [],
    }


def wake(settings: WorkerSettings, job: str) -> None:
    producer = Celery("producer", set_as_current=False)
    producer.conf.update(broker_configuration(settings))
    producer.send_task("worker.tasks.wake", args=[job], queue="jobs", ignore_result=True)
    producer.close()


def test_a_wake_up_runs_the_job_and_others_do_nothing(
    server: StubWorkerApi, settings: WorkerSettings, worker: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    queue_job(server, tmp_path / "model", "ftjob-1", "metrics:2 end")
    for job in ("ftjob-unknown", "ftjob-1", "ftjob-1"):
        wake(settings, job)
    wait_for(lambda: server.state.acknowledged == 3, 30)
    if settings.redis_url is None:
        wait_for(lambda: not list(settings.folder("broker", "queue").iterdir()))
    assert worker.poll() is None
    assert server.state.workers[0]["kind"] == "trainer"
    assert server.state.workers[0]["jail"] is None
    assert "no.sock" in server.state.workers[0]["jail_reasons"][0]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_that_is_stopped_ends_its_trainer(
    number: signal.Signals,
    server: StubWorkerApi,
    settings: WorkerSettings,
    worker: subprocess.Popen[bytes],
    tmp_path: Path,
) -> None:
    queue_job(server, tmp_path / "model", "ftjob-1", "ignore metrics:1 sleep")
    wake(settings, "ftjob-1")
    wait_for(lambda: server.state.acknowledged == 1, 30)
    trainer = int((settings.home / "runs" / "ftjob-1" / "1" / "pid").read_text())
    worker.send_signal(number)
    assert worker.wait(15) == 0
    assert not is_running(trainer)
    assert [record["kind"] for record in server.state.records] == ["step_metrics"]


@pytest.mark.parametrize("settings", ["folder"], indirect=True)
def test_a_message_still_being_written_is_left_for_the_next_look(settings: WorkerSettings) -> None:
    options = broker_configuration(settings)["broker_transport_options"]
    wake(settings, "ftjob-1")
    queue = settings.folder("broker", "queue")
    (queue / "0_first.jobs.msg").write_text('{"body": "cut o')
    (queue / "0_other.else.msg").write_text("{}")

    app = Celery("reader", set_as_current=False)
    app.conf.update(broker_configuration(settings))
    with app.connection() as connection:
        channel = connection.channel()
        assert isinstance(channel, Channel)
        assert channel._get("jobs")["headers"]["argsrepr"] == "['ftjob-1']"
    assert sorted(path.name for path in queue.iterdir()) == ["0_first.jobs.msg", "0_other.else.msg"]
    assert options["polling_interval"] == 0.1


@pytest.mark.parametrize("settings", ["dead"], indirect=True)
def test_a_worker_whose_broker_is_dead_runs_jobs_and_leaves_nothing_behind(
    server: StubWorkerApi, settings: WorkerSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_POLL_SECONDS", "0.2")
    with running_worker(settings, tmp_path) as worker:
        queue_job(server, tmp_path / "model", "ftjob-1", "metrics:2 end")
        wait_for(lambda: server.state.acknowledged == 3, 30)
        assert "Connection refused" in server.state.workers[0]["broker"]["error"]
        queue_job(server, tmp_path / "model", "ftjob-2", "ignore metrics:1 sleep")
        wait_for(lambda: (settings.home / "runs" / "ftjob-2" / "1" / "pid").exists(), 30)
        trainer = int((settings.home / "runs" / "ftjob-2" / "1" / "pid").read_text())
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(30) == 0
        assert not is_running(trainer)
