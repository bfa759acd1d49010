"""`reinforge job logs|metrics`, `worker list` and `webhook …` against a real server."""

import asyncio
import csv
import io
import json
import threading
from collections.abc import Iterator

import pytest

from backend.data.database import Database
from backend.data.sealing import Sealer
from backend.webhooks.delivery import Deliveries
from reinforge.cli.results import records
from reinforge.net.outbound import Guard
from tests.backend.server import Backend, Trainer
from tests.support.command_line import Cli
from tests.support.stub_server import Answer, StubServer


@pytest.fixture
def trainer(backend: Backend) -> Trainer:
    job = backend.create_job()
    trainer = backend.claim(job)
    trainer.start()
    trainer.send({"kind": "log", "level": "info", "message": "the model is loaded"})
    trainer.step(1, learning_rate=1e-5)
    trainer.step(2, learning_rate=1e-5)
    trainer.send({"kind": "log", "level": "warning", "message": "[reward] is slow", "step": 2})
    return trainer


def test_a_job_s_log_is_printed(run: Cli, trainer: Trainer) -> None:
    job = trainer.claimed["job"]
    done = run("job", "logs", job)
    assert done.code == 0, done.err
    first, second = done.out.splitlines()
    assert first.endswith("info     the model is loaded")
    assert second.endswith("warning  step 2: [reward] is slow")
    assert run("job", "logs", job, "--tail", "1").out == f"{second}\n"
    assert [line["level"] for line in json.loads(run("job", "logs", job, "--json").out)] == [
        "info",
        "warning",
    ]
    assert run("job", "logs", "ftjob-none").code == 5


def test_a_log_is_followed_to_the_job_s_end(
    run: Cli, trainer: Trainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its last line is written between two requests, just before the job ends."""
    monkeypatch.setattr(records, "PAGE_SIZE", 1)  # every line is a page
    pauses = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 1:
            trainer.send({"kind": "log", "level": "info", "message": "the last line", "step": 3})
            trainer.checkpoint(3, 1.0, final=True)
            trainer.end("succeeded")

    monkeypatch.setattr(records.time, "sleep", pause)
    done = run("job", "logs", trainer.claimed["job"], "-f", "--json")
    assert done.code == 0, done.err
    messages = [json.loads(line)["message"] for line in done.out.splitlines()]
    assert messages == ["the model is loaded", "[reward] is slow", "the last line"]
    assert pauses == [1.0]
    assert run("job", "delete", trainer.claimed["job"]).code == 0
    assert run("job", "logs", trainer.claimed["job"]).code == 5


def test_metrics_are_printed_as_a_table_json_and_csv(run: Cli, trainer: Trainer) -> None:
    job = trainer.claimed["job"]
    table = run("job", "metrics", job, "--key", "reward/mean").out.splitlines()
    assert table[0].split() == ["metric", "kind", "steps", "first", "last", "smallest", "largest"]
    assert table[1].split() == ["reward/mean", "train", "2", "0.1000", "0.2000", "0.1000", "0.2000"]
    assert "1e-05" in run("job", "metrics", job).out
    series = json.loads(run("job", "metrics", job, "--json").out)["series"]
    assert {row["key"] for row in series} == {"reward/mean", "time/step", "learning_rate"}
    rows = list(csv.DictReader(io.StringIO(run("job", "metrics", job, "--key", "reward/mean", "--csv").out)))
    assert [(row["key"], row["step"], row["value"]) for row in rows] == [
        ("reward/mean", "1", "0.1"), ("reward/mean", "2", "0.2"),
    ]  # fmt: skip
    wrong = run("job", "metrics", job, "--key", "reward/men")
    assert (wrong.code, "reward/mean" in wrong.err) == (2, True), wrong.err
    assert run("job", "metrics", job, "--csv", "--json").code == 2


def test_workers_are_listed(run: Cli, backend: Backend) -> None:
    backend.register("wrk_listed")
    [line] = [line for line in run("worker", "list").out.splitlines() if line.startswith("wrk_listed")]
    assert "trainer" in line and "idle" in line
    assert "wrk_listed" in [worker["id"] for worker in json.loads(run("worker", "list", "--json").out)]


@pytest.fixture
def receiver() -> Iterator[StubServer]:
    server = StubServer()
    yield server
    server.close()


@pytest.fixture
def deliveries(backend: Backend) -> Iterator[None]:
    """What the background process does: due deliveries are sent."""
    ended = threading.Event()

    async def send() -> None:
        database = Database(backend.database_url, pool_size=2)
        sender = Deliveries(database, Sealer(backend.settings), Guard.allowing("127.0.0.1"))
        while not ended.is_set():
            await sender.send_due()
            await asyncio.sleep(0.02)
        await database.close()

    thread = threading.Thread(target=lambda: asyncio.run(send()), daemon=True)
    thread.start()
    yield
    ended.set()
    thread.join(10)


def test_webhooks_are_created_listed_tested_and_deleted(
    run: Cli, receiver: StubServer, deliveries: None
) -> None:
    receiver.on("POST", "/hook", Answer(body={}))
    event = "fine_tuning.job.succeeded"
    created = run("webhook", "create", f"{receiver.url}/hook", "--event", event, "--description", "for CI")
    assert (created.code, created.out.startswith("whsec_")) == (0, True), created.err
    [webhook] = json.loads(run("webhook", "list", "--json").out)
    assert (webhook["url"], webhook["events"]) == (f"{receiver.url}/hook", [event])
    assert webhook["id"] in run("webhook", "list").out
    assert "secret" not in webhook
    tested = run("webhook", "test", webhook["id"])
    assert (tested.code, "HTTP 200" in tested.err) == (0, True), tested.err
    receiver.on("POST", "/hook", Answer(500))
    refused = run("webhook", "test", webhook["id"])
    assert (refused.code, "HTTP 500" in refused.err) == (1, True), refused.err
    assert run("webhook", "delete", webhook["id"]).code == 0
    assert run("webhook", "test", webhook["id"]).code == 5
    assert run("webhook", "create", f"{receiver.url}/hook", "--event", "job.ended").code == 2
