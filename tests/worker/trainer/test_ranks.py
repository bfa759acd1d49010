"""Ranks of a trainer process: they start with it, end with it, and one that is killed ends the attempt."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from reinforge.errors import JobFailure
from reinforge.offline.train import sandbox
from reinforge.records import RewardCode, RunManifest
from tests.support.small_jobs import small_spec, write_rows
from tests.support.tiny_models import write_tiny_model
from worker.trainer.ranks import STORE, check_devices, rank_processes

REWARD = "def grade(sample, item):\n    return len(sample['output_text']) % 7 / 7\n"
STEPS = {
    "limits__steps": 6,
    "limits__checkpoint_every": 6,
    "evaluation__every_steps": 0,
    "devices_per_job": 2,
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    folder = tmp_path_factory.mktemp("p")
    with sandbox(folder / "s.sock", folder):
        yield write_tiny_model(folder / "model"), folder / "s.sock"


class RankedTrainer:
    """A trainer without a supervisor, whose records are read from its folder."""

    def __init__(self, folder: Path, shared: tuple[Path, Path], resume: Path | None, **changes: Any) -> None:
        folder.mkdir()
        self.folder = folder
        (folder / "reward").write_text(REWARD)
        rows = write_rows(folder / "rows.jsonl", [{"prompt": f"row {n}"} for n in range(12)])
        manifest = RunManifest(
            job="ftjob-test",
            attempt=2 if resume else 1,
            spec=small_spec(**STEPS | changes).model_dump(mode="json"),
            model_path=str(shared[0]),
            dataset_path=str(rows),
            rewards=[RewardCode(name="low", path=str(folder / "reward"), revision="rew_1@1", kind="python")],
            sandbox_socket=str(shared[1]),
            resume_path=str(resume) if resume else None,
        )
        (folder / "run.json").write_text(manifest.model_dump_json())
        with (folder / "trainer.log").open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "worker.trainer.main", "--run", str(folder), "--offline"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=os.environ | {"OMP_NUM_THREADS": "1"},
            )  # fmt: skip

    @property
    def records(self) -> list[dict[str, Any]]:
        path = self.folder / "records.jsonl"
        text = path.read_text() if path.exists() else ""
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def until(self, condition: Callable[["RankedTrainer"], Any], seconds: float = 120.0) -> Any:
        deadline = time.monotonic() + seconds
        while not (value := condition(self)):
            assert self.process.poll() is None and time.monotonic() < deadline, self.log
            time.sleep(0.02)
        return value

    @property
    def ranks(self) -> list[int]:
        """Processes of this folder other than rank 0."""
        own = f"worker.trainer.rank\0--run\0{self.folder}".encode()
        processes = (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())
        return [pid for pid in processes if own in _command(pid)]

    @property
    def log(self) -> str:
        return (self.folder / "trainer.log").read_text(errors="replace")[-3000:]

    def wait(self) -> dict[str, Any]:
        self.process.wait(120)
        return self.records[-1]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.fixture
def start(tmp_path: Path, shared: tuple[Path, Path]) -> Iterator[Callable[..., RankedTrainer]]:
    started: list[RankedTrainer] = []

    def begin(name: str, resume: Path | None = None, **changes: Any) -> RankedTrainer:
        started.append(RankedTrainer(tmp_path / name, shared, resume, **changes))
        return started[-1]

    yield begin
    for trainer in started:
        if trainer.process.poll() is None:
            trainer.process.kill()
        trainer.process.wait()


def steps_of(trainer: RankedTrainer) -> list[int]:
    return [record["step"] for record in trainer.records if record["kind"] == "step_metrics"]


def killed_in_the_middle(start: Callable[..., RankedTrainer]) -> tuple[RankedTrainer, Path, int]:
    """A trainer that lost its second rank, its resume state, and the step of that."""
    trainer = start("killed")
    trainer.until(lambda trainer: 2 in steps_of(trainer))
    (other,) = trainer.ranks
    os.kill(other, signal.SIGKILL)
    ended = trainer.wait()
    assert (ended["kind"], ended["outcome"], ended["reason"]) == ("ended", "failed", "rank_lost"), trainer.log
    assert "rank 1 ended with SIGKILL" in ended["message"]
    saved = [record for record in trainer.records if record["kind"] == "resume_state_saved"][-1]
    assert saved["step"] == ended["step"] == max(steps_of(trainer)) < 6
    return trainer, trainer.folder / "blobs" / saved["blob"]["sha256"], saved["step"]


def test_a_killed_rank_ends_the_attempt_with_a_resume_state(start: Callable[..., RankedTrainer]) -> None:
    trainer, _, _ = killed_in_the_middle(start)
    assert trainer.ranks == [] and not (trainer.folder / STORE).exists()
    assert next(r for r in trainer.records if r["kind"] == "started")["facts"]["ranks"] == 2


@pytest.mark.long
def test_the_next_attempt_goes_on_to_the_same_adapter(start: Callable[..., RankedTrainer]) -> None:
    _, resume, step = killed_in_the_middle(start)
    again = start("again", resume)
    assert again.wait()["outcome"] == "succeeded" and min(steps_of(again)) == step + 1
    whole, alone = start("whole"), start("alone", devices_per_job=1)
    assert whole.wait()["outcome"] == alone.wait()["outcome"] == "succeeded"
    adapters = [t.folder / "adapter" / "adapter_model.safetensors" for t in (again, whole, alone)]
    assert adapters[0].read_bytes() == adapters[1].read_bytes()
    assert [_rewards(trainer) for trainer in (whole, alone)] == [_rewards(whole)] * 2


def _rewards(trainer: RankedTrainer) -> list[float]:
    return [r["values"]["reward/mean"] for r in trainer.records if r["kind"] == "step_metrics"]


@pytest.mark.long
def test_ranks_end_with_a_killed_trainer(start: Callable[..., RankedTrainer]) -> None:
    trainer = start("orphaned", limits__steps=1000)
    trainer.until(lambda trainer: 1 in steps_of(trainer))
    assert len(trainer.ranks) == 1
    trainer.process.kill()
    trainer.process.wait()
    deadline = time.monotonic() + 5
    while trainer.ranks and time.monotonic() < deadline:
        time.sleep(0.02)
    assert trainer.ranks == []


def test_more_devices_than_there_are_are_refused_before_anything_starts(tmp_path: Path) -> None:
    check_devices(1)
    refused = pytest.raises(JobFailure, match="devices_per_job is 1000, and this worker has")
    with refused as raised, rank_processes(1000, tmp_path):
        pass
    assert (raised.value.code, raised.value.retryable) == ("too_few_devices", True)
    assert list(tmp_path.iterdir()) == []


def test_a_job_of_one_rank_starts_none(tmp_path: Path) -> None:
    with rank_processes(1, tmp_path) as others:
        assert others is None
