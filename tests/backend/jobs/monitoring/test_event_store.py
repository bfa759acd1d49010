"""Events of metrics: one row each; rows that steps share, which versions up to 0.2 stored, read the same."""

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic import command

from backend.data.migrate import alembic_config, upgrade
from tests.backend.server import OWNER_KEY, Backend, Trainer

pytestmark = pytest.mark.usefixtures("rpc_backend")


@pytest.fixture
def trainer(backend: Backend) -> Trainer:
    made = backend.claim(backend.create_job(limits={"steps": 100}))
    made.start()
    return made


def step(number: int, **values: float | None) -> dict[str, Any]:
    return {"kind": "step_metrics", "step": number, "values": values}


def pages(backend: Backend, job: str, limit: int) -> list[dict[str, Any]]:
    """All events, read page by page."""
    events: list[dict[str, Any]] = []
    while True:
        after = events[-1]["seq"] if events else 0
        page = backend.api.get(f"/jobs/{job}/events", params={"limit": limit, "after": after}).json()
        assert len(page["data"]) == limit or not page["has_more"]
        events += page["data"]
        if not page["has_more"]:
            return events


def rows_of(backend: Backend, job: str) -> list[int]:
    """How many events each row of metrics stands for."""
    rows = backend.sql("SELECT count FROM event WHERE job_id = %s AND type = 'metrics' ORDER BY seq", job)
    return [int(str(row[0])) for row in rows]


def share_row(backend: Backend, job: str, steps: list[int]) -> None:
    """Store metrics of consecutive steps with the same keys in one row, as versions up to 0.2 did."""
    rows = backend.sql(
        "SELECT seq, data FROM event WHERE job_id = %s AND type = 'metrics' AND step = ANY(%s) ORDER BY seq",
        job,
        steps,
    )
    data = [fields for _, fields in rows]
    shared = {"kind": "train", "step": steps, "ts": [fields["ts"] for fields in data]}
    shared["values"] = {key: [fields["values"][key] for fields in data] for key in data[0]["values"]}
    *earlier, last = [seq for seq, _ in rows]
    backend.sql("DELETE FROM event WHERE job_id = %s AND seq = ANY(%s)", job, earlier)
    backend.sql(
        "UPDATE event SET data = %s::jsonb, count = %s WHERE job_id = %s AND seq = %s",
        json.dumps(shared), len(steps), job, last,
    )  # fmt: skip


def test_each_step_has_a_row(backend: Backend, trainer: Trainer) -> None:
    job = trainer.claimed["job"]
    evaluated = {
        "kind": "evaluated",
        "step": 6,
        "values": {"reward/mean": 0.25},
        "rows": 4,
        "samples_per_row": 1,
    }
    trainer.send(
        *[step(number, **{"reward/mean": number / 8, "kl": None}) for number in range(1, 5)],
        step(5, **{"reward/mean": 0.5}),
        step(6, **{"reward/mean": 0.75}),
        evaluated,
        {"kind": "log", "level": "info", "message": "between"},
        step(7, **{"reward/mean": 1.0}),
    )
    assert rows_of(backend, job) == [1] * 8
    metrics = [event["data"] for event in pages(backend, job, 1000) if event["type"] == "metrics"]
    assert [(metric["step"], metric["kind"]) for metric in metrics] == [
        *((number, "train") for number in range(1, 7)),
        (6, "held_out"),
        (7, "train"),
    ]
    assert metrics[1]["values"] == {"reward/mean": 0.25, "kl": None}
    assert metrics[4]["values"] == {"reward/mean": 0.5}
    assert all(metric["ts"] > 0 for metric in metrics)


@pytest.mark.parametrize("limit", [1, 7, 50])
def test_pages_end_inside_of_rows(backend: Backend, trainer: Trainer, limit: int) -> None:
    job = trainer.claimed["job"]
    trainer.send(*[step(number, **{"reward/mean": 0.5}) for number in range(1, 31)])
    trainer.send(*[step(number, **{"reward/mean": 0.5}) for number in range(31, 61)])
    everything = pages(backend, job, 1000)
    assert [event["seq"] for event in everything] == list(range(1, len(everything) + 1))
    assert pages(backend, job, limit) == everything


@pytest.mark.parametrize("limit", [1, 7, 100])
def test_openai_lists_them_newest_first(backend: Backend, trainer: Trainer, limit: int) -> None:
    job = trainer.claimed["job"]
    trainer.send(*[step(number, **{"reward/mean": number / 64}) for number in range(1, 31)])
    events: list[dict[str, Any]] = []
    with backend.client(OWNER_KEY, "/v1") as wire:
        more = True
        while more:
            after = {"after": events[-1]["id"]} if events else {}
            page = wire.get(f"/fine_tuning/jobs/{job}/events", params={"limit": limit, **after}).json()
            events, more = events + page["data"], page["has_more"]
    steps = [event["data"]["step"] for event in events if event["type"] == "metrics"]
    assert steps == list(range(30, 0, -1))
    assert len({event["id"] for event in events}) == len(events)
    means = [event["data"]["train_mean_reward"] for event in events if event["type"] == "metrics"]
    assert means == [number / 64 for number in range(30, 0, -1)]


def test_a_resume_undoes_the_end_of_a_shared_row(backend: Backend, trainer: Trainer) -> None:
    job = trainer.claimed["job"]
    trainer.step(1)
    trainer.resume_state(1)
    trainer.send(*[step(number, **{"reward/mean": number / 8}) for number in range(2, 7)])
    trainer.resume_state(4)
    share_row(backend, job, [2, 3, 4, 5, 6])
    before = [event for event in pages(backend, job, 1000) if (event["data"].get("step") or 0) <= 4]
    backend.sql("UPDATE job SET lease_until = now() - interval '1 s' WHERE id = %s", job)
    backend.sweep()
    again = backend.claim(job)
    assert again.claimed["resume_step"] == 4
    left = pages(backend, job, 1000)
    assert [event for event in left if event["seq"] <= before[-1]["seq"]] == before
    assert [event["data"]["step"] for event in left if event["type"] == "metrics"] == [1, 2, 3, 4]
    assert rows_of(backend, job) == [1, 3]


def test_an_older_version_finds_a_row_for_each(database_url: str, tmp_path: Path) -> None:
    values: list[dict[str, float | None]] = [{"kl": None}, {"kl": 0.5}]
    with Backend(database_url, tmp_path / "home") as backend, backend.rpc_worker():
        trainer = backend.claim(backend.create_job())
        trainer.send(*[step(number, **fields) for number, fields in enumerate(values, 1)])
        job = trainer.claimed["job"]
        before = pages(backend, job, 1000)
        share_row(backend, job, [1, 2])
        assert rows_of(backend, job) == [2] and pages(backend, job, 1000) == before
    command.downgrade(alembic_config(database_url), "0020")
    with psycopg.connect(database_url, autocommit=True) as connection:
        rows = connection.execute(
            "SELECT seq, step, data FROM event WHERE type = 'metrics' ORDER BY seq"
        ).fetchall()
    assert [(row[0], row[2]) for row in rows] == [
        (event["seq"], event["data"]) for event in before if event["type"] == "metrics"
    ]
    assert [row[1] for row in rows] == [1, 2]
    upgrade(database_url)
    with Backend(database_url, tmp_path / "home") as backend:
        assert pages(backend, job, 1000) == before


def test_what_is_deleted_takes_its_events_and_points_along(backend: Backend, trainer: Trainer) -> None:
    job = trainer.claimed["job"]
    trainer.send(step(1, **{"reward/mean": 0.5}), step(2, **{"reward/mean": 0.5}))
    series = "SELECT id FROM metric_series WHERE job_id = %s"
    [(id,)] = backend.sql(series, job)
    backend.sql("DELETE FROM job WHERE id = %s", job)
    assert backend.sql("SELECT 1 FROM event WHERE job_id = %s", job) == []
    assert backend.sql("SELECT 1 FROM metric_point WHERE series_id = %s", id) == []
