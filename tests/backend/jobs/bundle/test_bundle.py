"""Bundles of real jobs: what they contain, and that `reproduce` gets the same result to the bit."""

import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from reinforge.bundles.archive import unpack_bundle
from reinforge.bundles.manifest import BundleManifest
from reinforge.bundles.records import BundleRecords
from reinforge.client import Reinforge
from reinforge.errors import InvalidInput, StateConflict
from reinforge.offline.bundle_job import Inputs, check_repeatable
from reinforge.offline.reproduce import CheckpointDifference, Comparison, Reproduction, reproduce
from reinforge.records import RewardCode, RunManifest
from reinforge.schemas.divergence import MetricDifference, RowDifference
from tests.backend.server import OWNER_KEY, Backend, Trainer
from tests.worker.sandbox.harness import running_daemon
from worker.models.sources import ModelStore
from worker.starter import CHECKPOINT

ARITHMETIC = Path(__file__).resolve().parents[4] / "examples" / "arithmetic"
STEPS = 2


def starter(backend: Backend, folder: Path) -> str:
    id = backend.add_model("starter-arith", context=512)
    sha256 = ModelStore(folder).content_hash(CHECKPOINT)
    backend.sql(
        "UPDATE base_model SET source = 'builtin:starter-arith', sha256 = %s WHERE id = %s", sha256, id
    )
    return id


def spec(backend: Backend, folder: Path) -> dict[str, Any]:
    rows = [json.loads(line) for line in (ARITHMETIC / "additions.jsonl").read_text().splitlines()[:60]]
    return {
        "model": starter(backend, folder),
        "data": {"dataset": backend.add_dataset(rows), "held_out_rows": 4},
        "rewards": [{"name": "right", "source": (ARITHMETIC / "reward.py").read_text()}],
        "rollout": {"prompts_per_step": 2, "completions_per_prompt": 4, "max_completion_tokens": 32,
                    "engine": "transformers"},
        "evaluation": {"every_steps": 0, "rows": 4, "samples_per_row": 1},
        "optimizer": {"learning_rate": 1e-3},
        "limits": {"steps": STEPS},
    }  # fmt: skip


def train(trainer: Trainer, content: bytes, folder: Path) -> None:
    """A real trainer process with what the worker claimed; its records go to the backend."""
    claimed = trainer.claimed
    (folder / "rewards").mkdir()
    (folder / "dataset.jsonl").write_bytes(content)
    [reward] = claimed["rewards"]
    (folder / "rewards" / "right.py").write_text(reward["source"])
    with running_daemon() as daemon:
        manifest = RunManifest(
            job=claimed["job"], attempt=1, spec=claimed["spec"], model_path=str(CHECKPOINT),
            dataset_path=str(folder / "dataset.jsonl"), sandbox_socket=str(daemon.socket),
            rewards=[RewardCode(name="right", path=str(folder / "rewards/right.py"), revision=reward["revision"])],
        )  # fmt: skip
        (folder / "run.json").write_text(manifest.model_dump_json())
        command = [sys.executable, "-m", "worker.trainer.main", "--run", str(folder), "--offline"]
        subprocess.run(command, check=True, timeout=240, capture_output=True)
    for line in (folder / "records.jsonl").read_text().splitlines():
        record = json.loads(line)
        if "blob" in record:
            content = (folder / "blobs" / record["blob"]["sha256"]).read_bytes()
            trainer.blob(content, "rollouts" if record["kind"] == "rollouts" else "checkpoint")
        trainer.send({key: value for key, value in record.items() if key not in ("sequence", "ts")})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bundle")


@pytest.fixture(scope="module")
def bundle(rpc_backend: Backend, folder: Path) -> Path:
    """Of a job that a real trainer ran."""
    response = rpc_backend.api.post("/jobs", json=spec(rpc_backend, folder))
    assert response.status_code == 201, response.text
    job = response.json()
    trainer = rpc_backend.claim(job["id"])
    (folder / "run").mkdir()
    content = rpc_backend.api.get(f"/datasets/{job['dataset']}/content").content
    train(trainer, content, folder / "run")
    with Reinforge(rpc_backend.url, OWNER_KEY) as client:
        return client.jobs.bundle(job["id"], folder / "sums.tar")


@pytest.fixture(scope="module")
def unpacked(bundle: Path, folder: Path) -> tuple[BundleManifest, Path]:
    (folder / "unpacked").mkdir()
    return unpack_bundle(bundle, folder / "unpacked"), folder / "unpacked"


@pytest.mark.long
def test_a_repeated_job_is_the_same_to_the_bit(bundle: Path, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "reinforge.cli.main",
        "reproduce",
        str(bundle),
        "--out",
        str(tmp_path / "again"),
    ]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    result = Reproduction.model_validate_json(done.stdout)
    assert (result.outcome, result.adapter, result.steps, result.machine) == ("same", True, STEPS, {})
    assert result.compared["completions"] == 2 * STEPS * 4 + 2 * 4
    assert result.compared["checkpoints"] == 1
    assert result.compared["metrics"] > 50


def test_it_contains_what_the_job_was_made_of(unpacked: tuple[BundleManifest, Path]) -> None:
    manifest, contents = unpacked
    assert (manifest.status, manifest.step, manifest.model.source) == (
        "succeeded",
        STEPS,
        "builtin:starter-arith",
    )
    assert {"torch", "transformers", "peft", "reinforge"} <= manifest.facts["versions"].keys()
    assert manifest.facts["machine"]["processor"]
    assert (contents / manifest.rewards[0].path).read_bytes() == (ARITHMETIC / "reward.py").read_bytes()
    assert manifest.dataset.path is not None
    assert len((contents / manifest.dataset.path).read_text().splitlines()) == 60
    assert [(part.split, part.step) for part in manifest.rollouts] == [
        ("held_out", 0), ("train", 1), ("train", 2), ("held_out", 2),
    ]  # fmt: skip
    points = parquet.read_table(contents / manifest.metrics).to_pylist()
    assert {point["step"] for point in points if point["kind"] == "train"} == {1, 2}
    [final] = manifest.checkpoints
    assert final.final and final.path is not None
    with tarfile.open(contents / final.path) as tar:
        assert "adapter_model.safetensors" in tar.getnames()


def replay(manifest: BundleManifest, contents: Path, run: Path) -> Comparison:
    comparison = Comparison(manifest, BundleRecords(manifest, contents), run)
    for line in (run / "records.jsonl").read_text().splitlines():
        comparison.add(json.loads(line))
        if comparison.difference is not None:
            break
    return comparison


def changed(manifest: BundleManifest, contents: Path, to: Path, path: str, change: Any) -> Path:
    """The bundle's files with one Parquet file changed."""
    for entry in manifest.files:
        (to / entry.path).parent.mkdir(parents=True, exist_ok=True)
        (to / entry.path).write_bytes((contents / entry.path).read_bytes())
    table = parquet.read_table(to / path)
    rows = table.to_pylist()
    change(rows)
    parquet.write_table(pa.Table.from_pylist(rows, table.schema), to / path)
    return to


def test_the_first_token_that_differs_is_named(
    unpacked: tuple[BundleManifest, Path], folder: Path, tmp_path: Path
) -> None:
    manifest, contents = unpacked

    def change(rows: list[dict[str, Any]]) -> None:
        rows[5]["token_ids"][2] += 1
        rows[5]["tokens"][2] = "?"

    other = changed(manifest, contents, tmp_path, "completions/train-000002.parquet", change)
    difference = replay(manifest, other, folder / "run").difference
    assert isinstance(difference, RowDifference)
    assert (difference.step, difference.what, difference.prompt_no) == (2, "token", 1)
    assert (difference.sample_no, difference.token, difference.values[0]) == (1, 2, "?")


def test_the_first_metric_and_weights_that_differ_are_named(
    unpacked: tuple[BundleManifest, Path], folder: Path, tmp_path: Path
) -> None:
    manifest, contents = unpacked

    def change(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            if (row["key"], row["step"]) == ("optimizer/grad_norm", 2):
                row["value"] *= 1 + 1e-15

    other = changed(manifest, contents, tmp_path, manifest.metrics, change)
    difference = replay(manifest, other, folder / "run").difference
    assert isinstance(difference, MetricDifference)
    assert (difference.step, difference.key) == (2, "optimizer/grad_norm")
    final = manifest.checkpoints[0].model_copy(update={"sha256": "0" * 64, "path": None})
    without = manifest.model_copy(update={"checkpoints": [final]})
    last = replay(without, contents, folder / "run")
    assert isinstance(last.difference, CheckpointDifference)
    assert last.adapter is False


def test_without_rows_it_says_where_they_are(
    rpc_backend: Backend, bundle: Path, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "a").mkdir()
    id = unpack_bundle(bundle, tmp_path / "a").job
    with Reinforge(rpc_backend.url, OWNER_KEY) as client:
        small = client.jobs.bundle(id, tmp_path / "small.tar", rows=False, completions=False)
    with pytest.raises(InvalidInput) as caught:
        reproduce(small, tmp_path / "b", Inputs())
    assert (caught.value.code, caught.value.param) == ("rows_needed", "--dataset")
    assert "SHA-256" in caught.value.message
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text('{"prompt": "1+1="}\n')
    with pytest.raises(InvalidInput) as caught:
        reproduce(small, tmp_path / "c", Inputs(dataset=wrong))
    assert caught.value.code == "rows_differ"
    assert b"68+52=" not in small.read_bytes()


def test_a_job_that_runs_has_no_bundle(rpc_backend: Backend) -> None:
    with Reinforge(rpc_backend.url, OWNER_KEY) as client, pytest.raises(StateConflict) as caught:
        client.jobs.bundle(rpc_backend.create_job(), "unused.tar")
    assert caught.value.code == "job_not_ended"


def test_what_cannot_be_repeated_is_refused(unpacked: tuple[BundleManifest, Path]) -> None:
    manifest, contents = unpacked
    check_repeatable(manifest, contents)
    with pytest.raises(InvalidInput, match="ask the judge"):
        check_repeatable(manifest.model_copy(update={"judges": ["helper"]}), contents)
