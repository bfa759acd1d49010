"""A project's export: jobs and evaluations, in bounded memory, with a list of lost objects."""

import asyncio
import io
import json
import tarfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from sqlalchemy import func, literal, select

from backend.data.database import Database
from backend.data.objects import Objects, configured_store, object_key
from backend.http.tar_stream import END
from backend.projects.export_pieces import Pieces
from reinforge.storage import open_store
from tests.backend.evaluations.sampler import sampler
from tests.backend.jobs.monitoring.test_completions import row, send
from tests.backend.people import made
from tests.backend.server import REWARD, Backend, wait_until
from tests.backend.tenancy import MARK, Stranger


@pytest.fixture(scope="module")
def stranger(rpc_backend: Backend) -> Iterator[Stranger]:
    other = Stranger(rpc_backend)
    yield other
    other.api.close()
    other.us.close()


def exported(stranger: Stranger) -> dict[str, bytes]:
    answer = stranger.api.get(f"/projects/{stranger.project}/export")
    assert answer.status_code == 200, answer.text
    with tarfile.open(fileobj=io.BytesIO(answer.content)) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]


def lines(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content.splitlines()]


def test_completions_events_and_checkpoints_of_a_job_are_exported(stranger: Stranger) -> None:
    job = stranger.things["jobs"]
    label = {"step": 1, "prompt_no": 0, "sample_no": 1, "right": True}
    made(stranger.api.post(f"/jobs/{job}/labels", json={"labels": [label]}), 200)
    files = exported(stranger)
    backend, folder = stranger.backend, f"jobs/{job}"
    table = pq.read_table(io.BytesIO(files[f"{folder}/rollouts/step-1.parquet"])).to_pylist()
    listed = made(stranger.api.get(f"/jobs/{job}/completions", params={"step": 1}), 200)["data"]
    assert len(table) == len(listed) == 2
    [(count,)] = backend.sql("SELECT count(*) FROM event WHERE job_id = %s", job)
    events = lines(files[f"{folder}/events.jsonl"])
    assert len(events) == count > 0
    assert [event["seq"] for event in events] == sorted(event["seq"] for event in events)
    assert MARK in [entry["message"] for entry in lines(files[f"{folder}/log.jsonl"])]
    [labelled] = lines(files[f"{folder}/labels.jsonl"])
    assert (labelled["sample_no"], labelled["right"]) == (1, True)
    [checkpoint] = json.loads(files[f"{folder}/checkpoints.json"])
    assert (checkpoint["id"], checkpoint["held_out_reward"]) == (stranger.checkpoint, 0.5)
    with tarfile.open(fileobj=io.BytesIO(files[f"{folder}/checkpoints/step-1.tar"])) as adapter:
        assert adapter.getnames() == ["adapter_config.json"]
    assert files[f"{folder}/changes.jsonl"] == b""


def test_completions_of_evaluations_within_a_job_have_their_own_files(stranger: Stranger) -> None:
    backend = stranger.backend
    reward = {"type": "python", "name": "right", "source": REWARD}
    job = made(stranger.api.post("/jobs", json=stranger.spec() | {"rewards": [reward]}))["id"]
    trainer = backend.claim(job)
    trainer.start()
    send(trainer, 1, "held_out", [row(0, 0)])
    send(trainer, 1, "train", [row(0, sample) for sample in range(3)])
    files = exported(stranger)
    counts = {
        name.rpartition("/")[2]: pq.read_table(io.BytesIO(content)).num_rows
        for name, content in files.items()
        if name.startswith(f"jobs/{job}/rollouts/")
    }
    assert counts == {"step-1.parquet": 3, "held_out-step-1.parquet": 1}


def test_evaluations_are_there_with_their_completions(stranger: Stranger) -> None:
    body = {"kind": "stand_alone", "model": "tiny", "dataset": stranger.things["datasets"],
            "reward": stranger.things["rewards"], "name": "nightly", "samples_per_row": 2}  # fmt: skip
    with sampler(stranger.backend):
        id = made(stranger.api.post("/evaluations", json=body))["id"]
        wait_until(
            lambda: stranger.api.get(f"/evaluations/{id}").json()["status"] == "succeeded", "the evaluation"
        )
    files = exported(stranger)
    whole = json.loads(files[f"evaluations/{id}/evaluation.json"])
    assert (whole["name"], whole["status"], whole["result"]["completions"]) == ("nightly", "succeeded", 16)
    sampled = lines(files[f"evaluations/{id}/completions.jsonl"])
    assert [(row["row_no"], row["sample_no"]) for row in sampled] == [
        (n, k) for n in range(8) for k in (0, 1)
    ]
    assert (sampled[1]["text"], sampled[1]["result"]["status"]) == ("0+1= 1", "ok")
    replay = stranger.things["evaluations"]
    assert json.loads(files[f"evaluations/{replay}/evaluation.json"])["kind"] == "replay"
    used = {(row["kind"], row["source"]): row["amount"] for row in lines(files["usage.jsonl"])}
    assert used["sampled_tokens", id] == 16 * 3
    assert [deployment["name"] for deployment in json.loads(files["deployments.json"])] == [MARK]


def test_lost_or_damaged_objects_are_listed_and_the_rest_can_be_read(stranger: Stranger) -> None:
    backend, job = stranger.backend, stranger.things["jobs"]
    store = configured_store(backend.settings)
    [(lost, size)] = backend.sql(
        "SELECT sha256, bytes FROM step_rollouts JOIN stored_object USING (sha256) WHERE job_id = %s", job
    )
    whole = store.get(object_key(lost))
    try:
        store.delete(object_key(lost))
        store.put(object_key(lost), whole[:10])
        files = exported(stranger)
        name = f"jobs/{job}/rollouts/step-1.parquet"
        assert files[name] == whole[:10] + bytes(size - 10)
        assert json.loads(files["missing.json"]) == [f"{name}: the last {size - 10} bytes"]
        store.delete(object_key(lost))
        files = exported(stranger)
        assert name not in files
        assert json.loads(files["missing.json"]) == [name]
        assert f"adapters/{stranger.things['adapters']}/adapter.tar" in files
    finally:
        store.put(object_key(lost), whole)


@pytest.mark.long
def test_rows_without_number_pass_through_little_memory(backend: Backend, tmp_path: Path) -> None:
    numbers = func.generate_series(1, 100_000).table_valued("n").render_derived()
    query = select(numbers.c.n, literal("x" * 200).label("text"))

    async def written() -> tuple[int, int]:
        database = Database(backend.database_url, pool_size=1)
        pieces = Pieces(database, Objects(database, open_store(tmp_path.as_uri())), tmp_path / "waiting")
        async for _ in pieces.rows("warm.jsonl", query.limit(10)):
            pass
        tracemalloc.start()
        total = 0
        with (tmp_path / "all.tar").open("wb") as file:
            async for piece in pieces.rows("all.jsonl", query):
                total += file.write(piece)
            file.write(END)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        await database.close()
        return total, peak

    total, peak = asyncio.run(written())
    assert total > 22_000_000
    assert peak < 5_000_000, "not everything at once"
    assert list((tmp_path / "waiting").iterdir()) == []
    with tarfile.open(tmp_path / "all.tar") as tar:
        content = tar.extractfile("all.jsonl").read()  # type: ignore[union-attr]
    assert content.count(b"\n") == 100_000
    assert json.loads(content[: content.index(b"\n")]) == {"n": 1, "text": "x" * 200}
