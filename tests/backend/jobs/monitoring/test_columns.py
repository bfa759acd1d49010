"""Metrics of many steps in one record or one row of events, as earlier releases sent and stored them."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from backend.data.database import Database
from backend.jobs.monitoring import event_store
from reinforge.records import StepMetrics
from tests.backend.server import Backend, Trainer

pytestmark = pytest.mark.usefixtures("rpc_backend")

STEPS: list[dict[str, float | None]] = [
    {"reward/mean": 0.1, "time/step": 2.0, "tokens/trained": 10.0},
    {"reward/mean": None, "time/step": 3.0, "tokens/trained": None},
    {"reward/mean": 1e-9, "time/step": None, "tokens/trained": 40.0},
    {"reward/mean": 0.5, "loss": -1e300},
    {"reward/mean": 0.75, "loss": 0.0},
    {"reward/mean": 0.5, "time/step": 1.0, "tokens/trained": 41.5},
]


@pytest.fixture
def trainer(backend: Backend) -> Trainer:
    made = backend.claim(backend.create_job())
    made.start()
    return made


def numbered(
    trainer: Trainer, metrics: Sequence[dict[str, float | None]], first: int = 1
) -> list[StepMetrics]:
    numbered_records = [
        {"kind": "step_metrics", "step": first + n, "values": values} for n, values in enumerate(metrics)
    ]
    return [StepMetrics.model_validate(record) for record in trainer.number(*numbered_records)]


def as_columns(records: Sequence[StepMetrics]) -> list[dict[str, Any]]:
    """Consecutive records with the same keys as one record."""
    columns: list[dict[str, Any]] = []
    for record in records:
        last = columns[-1] if columns else {"values": {}, "sequence": 0, "step": []}
        follows = last["sequence"] + len(last["step"]) == record.sequence
        if not follows or last["values"].keys() != record.values.keys():
            last = {"kind": "metric_columns", "sequence": record.sequence, "step": [], "ts": []}
            last["values"] = {key: [] for key in record.values}
            columns.append(last)
        last["step"].append(record.step)
        last["ts"].append(record.ts)
        for key, value in record.values.items():
            last["values"][key].append(value)
    return columns


def left(backend: Backend, trainer: Trainer) -> dict[str, Any]:
    """All that can be seen of what the trainer told, but for the job's name and the times of the database."""
    job = trainer.claimed["job"]
    events = backend.api.get(f"/jobs/{job}/events", params={"limit": 1000}).json()["data"]
    series = backend.api.get(f"/jobs/{job}/metrics").json()["series"]
    used = "SELECT kind, sum(amount) FROM usage WHERE source = %s AND kind <> 'device_seconds' GROUP BY kind"
    return {
        "events": [(event["seq"], event["data"]) for event in events if event["type"] == "metrics"],
        "series": sorted(series, key=lambda series_view: str(series_view["key"])),
        "used": dict(backend.sql(used, job)),  # type: ignore[arg-type]
        "step_seconds": backend.sql("SELECT recent_step_seconds FROM job WHERE id = %s", job)[0][0],
        "step": backend.job(job)["progress"]["step"],
    }


def test_they_leave_what_single_records_would(backend: Backend, trainer: Trainer) -> None:
    single = backend.claim(backend.create_job())
    single.start()
    for record in numbered(single, STEPS):
        assert single.post([record.model_dump()]).status_code == 200
    columns = as_columns(numbered(trainer, STEPS))
    assert [record["kind"] for record in columns] == ["metric_columns"] * 3
    reply = trainer.post(columns)
    assert (reply.status_code, reply.json()) == (200, {"acknowledged": trainer.sequence})
    assert left(backend, trainer) == left(backend, single)
    assert left(backend, trainer)["used"] == {"trained_tokens": 41.5}


@pytest.mark.parametrize("count", [1, 3, 4])
def test_of_columns_that_are_stored_in_part_the_rest_is_applied(
    backend: Backend, trainer: Trainer, count: int
) -> None:
    steps: list[dict[str, float | None]] = [
        {"reward/mean": n / 8, "tokens/trained": 2.0 * n} for n in range(1, 5)
    ]
    records = numbered(trainer, steps)
    assert trainer.post([record.model_dump() for record in records[:count]]).status_code == 200
    assert trainer.post(as_columns(records)).json() == {"acknowledged": trainer.sequence}
    remaining = left(backend, trainer)
    assert [data["step"] for _, data in remaining["events"]] == [1, 2, 3, 4]
    assert remaining["used"] == {"trained_tokens": 8.0}
    assert trainer.post(as_columns(records)).json() == {"acknowledged": trainer.sequence}, "told again"
    assert left(backend, trainer) == remaining


def test_events_that_share_a_row_are_read_and_cut_one_by_one(backend: Backend, trainer: Trainer) -> None:
    values: list[dict[str, float | None]] = [{"a": n / 4, "b": None} for n in range(4)]
    records = numbered(trainer, values)
    assert trainer.post([record.model_dump() for record in records]).status_code == 200
    job, before = trainer.claimed["job"], left(backend, trainer)
    steps, seqs = [1, 2, 3, 4], [seq for seq, _ in before["events"]]
    backend.sql("DELETE FROM event WHERE job_id = %s AND seq = ANY(%s)", job, seqs[:3])
    shared = {"kind": "train", "step": steps, "ts": [record.ts for record in records]}
    shared["values"] = {"a": [n / 4 for n in range(4)], "b": [None] * 4}
    backend.sql(
        "UPDATE event SET data = %s::jsonb, count = 4 WHERE job_id = %s AND seq = %s",
        json.dumps(shared), job, seqs[3],
    )  # fmt: skip
    assert left(backend, trainer) == before
    page = backend.api.get(f"/jobs/{job}/events", params={"after": seqs[1], "limit": 1}).json()["data"]
    assert [event["seq"] for event in page] == [seqs[2]]

    async def resume_from(step: int) -> None:
        database = Database(backend.database_url)
        async with database.transaction() as session:
            await event_store.forget_after(session, job, step)
        await database.close()

    asyncio.run(resume_from(2))
    assert left(backend, trainer)["events"] == before["events"][:2]


@pytest.mark.parametrize(
    "fault",
    [
        {"ts": [1.0]},
        {"values": {"a": [1.0, 2.0], "b": [1.0]}},
        {"step": [2, 2]},
        {"step": [2, 1]},
        {"step": [], "ts": [], "values": {}},
        {"values": {"a": [1.0, "much"]}},
    ],
)
def test_columns_that_are_no_table_are_refused(
    backend: Backend, trainer: Trainer, fault: dict[str, Any]
) -> None:
    before = left(backend, trainer)
    whole = {"kind": "metric_columns", "sequence": 2, "step": [1, 2], "ts": [1.0, 2.0]}
    refused = trainer.post([whole | {"values": {"a": [1.0, 2.0]}} | fault])
    assert refused.status_code == 422, refused.text
    assert refused.json()["error"]["param"].startswith("records[0]")
    assert left(backend, trainer) == before


def test_a_gap_before_or_behind_columns_stores_nothing(backend: Backend, trainer: Trainer) -> None:
    before = left(backend, trainer)
    records = numbered(trainer, [{"a": 1.0}] * 5)
    early, late = as_columns(records[1:]), [*as_columns(records[:2]), *as_columns(records[3:])]
    for gap, expected in ((early, 2), (late, 4)):
        refused = trainer.post(gap)
        assert refused.json()["error"]["code"] == "sequence_gap"
        assert f"where {expected} was expected" in refused.json()["error"]["message"]
    assert left(backend, trainer) == before
