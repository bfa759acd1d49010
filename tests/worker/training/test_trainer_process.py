"""`python -m worker.main` as a supervisor sees it: records on a pipe, commands on standard input, EOF."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from reinforge.offline import sandbox
from reinforge.records import RewardCode, RunManifest
from reinforge.reward_spec.judges import Judge
from tests.support.judge_stub import Stub, judged
from tests.support.small_jobs import small_spec, write_rows
from tests.support.tiny_models import write_tiny_model
from worker.reporter import EXIT_ORPHANED

REWARD = "def grade(sample, item):\n    return len(sample['output_text']) % 7 / 7\n"
DEADLINE = 120.0


class Trainer:
    """A trainer process with its pipes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.records: list[dict[str, Any]] = []
        self.lines = b""
        self._news = threading.Condition()
        read, write = os.pipe()
        command = [sys.executable, "-m", "worker.main", "--run", str(folder)]
        self._log = (folder / "trainer.log").open("wb")
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=self._log, stderr=self._log, pass_fds=[write],
            env={**os.environ, "REINFORGE_RECORD_FD": str(write), "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        os.close(write)
        self._reader = threading.Thread(target=self._read, args=(read,), daemon=True)
        self._reader.start()

    def send(self, kind: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"id": "cmd_1", "kind": kind}).encode() + b"\n")
        self.process.stdin.flush()

    def until(self, found: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first record of which `found` holds."""
        with self._news:
            ok = self._news.wait_for(lambda: any(map(found, self.records)), DEADLINE)
        assert ok, (self.folder / "trainer.log").read_text(errors="replace")[-3000:]
        return next(filter(found, self.records))

    def wait(self) -> int:
        code = self.process.wait(DEADLINE)
        self._reader.join(10)
        self._log.close()
        return code

    def _read(self, fd: int) -> None:
        with os.fdopen(fd, "rb") as pipe:
            for line in pipe:
                with self._news:
                    self.lines += line
                    self.records.append(json.loads(line))
                    self._news.notify_all()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    folder = tmp_path_factory.mktemp("p")
    with sandbox(folder / "s.sock", folder):
        yield write_tiny_model(folder / "model"), folder / "s.sock"


@pytest.fixture
def start(tmp_path: Path, shared: tuple[Path, Path]) -> Iterator[Callable[..., Trainer]]:
    started: list[Trainer] = []

    def begin(
        resume: Path | None = None,
        name: str = "run",
        judges: dict[str, Judge] | None = None,
        source: str = REWARD,
        **changes: Any,
    ) -> Trainer:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "reward").write_text(source)
        kind: Literal["python", "grader"] = "python" if source == REWARD else "grader"
        manifest = RunManifest(
            job="ftjob-test",
            attempt=2 if resume else 1,
            spec=small_spec(**changes).model_dump(mode="json"),
            model_path=str(shared[0]),
            dataset_path=str(write_rows(folder / "rows.jsonl", [{"prompt": f"row {n}"} for n in range(12)])),
            rewards=[RewardCode(name="low", path=str(folder / "reward"), revision="rew_1@1", kind=kind)],
            judges=judges or {},
            sandbox_socket=str(shared[1]),
            resume_path=str(resume) if resume else None,
            first_sequence=7 if resume else 1,
        )
        (folder / "run.json").write_text(manifest.model_dump_json())
        started.append(Trainer(folder))
        return started[-1]

    yield begin
    for trainer in started:
        if trainer.process.poll() is None:
            trainer.process.kill()
        trainer.wait()


def of_step(kind: str, step: int) -> Callable[[dict[str, Any]], bool]:
    return lambda record: record["kind"] == kind and record["step"] == step


@pytest.mark.parametrize("preset", ["grpo", "ppo"])
def test_a_killed_job_continues_to_the_same_adapter(start: Callable[..., Trainer], preset: str) -> None:
    """With what PPO's critic knows."""
    whole = start(name="whole", limits__steps=6, algorithm__preset=preset)
    assert whole.wait() == 0
    assert whole.records[-1]["kind"] == "ended"
    assert whole.lines == (whole.folder / "records.jsonl").read_bytes()

    killed = start(name="killed", limits__steps=6, algorithm__preset=preset)
    killed.until(of_step("step_metrics", 3))
    killed.process.kill()
    killed.wait()
    assert not any(record["kind"] == "ended" for record in killed.records)
    state = next(record for record in killed.records if record["kind"] == "resume_state_saved")

    resume = killed.folder / "blobs" / state["blob"]["sha256"]
    rest = start(name="rest", resume=resume, limits__steps=6, algorithm__preset=preset)
    assert rest.wait() == 0
    assert rest.records[0]["sequence"] == 7
    assert rest.until(of_step("started", 2))["steps"] == 6
    finals = [
        next(r for r in t.records if r["kind"] == "checkpoint_saved" and r["final"]) for t in (whole, rest)
    ]
    assert finals[0]["blob"] == finals[1]["blob"]


def test_cancel_ends_sampling_at_once_and_exits_with_zero(start: Callable[..., Trainer]) -> None:
    trainer = start(
        rollout__max_completion_tokens=230,
        rollout__prompts_per_step=64,
        evaluation__rows=0,
        limits__steps=1000,
    )
    trainer.until(of_step("phase", 1))
    trainer.send("cancel")
    assert trainer.wait() == 0
    ended = trainer.records[-1]
    assert (ended["kind"], ended["outcome"], ended["reason"]) == ("ended", "cancelled", "cancel_requested")


def test_the_end_of_standard_input_ends_the_process(start: Callable[..., Trainer]) -> None:
    trainer = start(limits__steps=100_000)
    trainer.until(of_step("step_metrics", 1))
    closed = time.monotonic()
    assert trainer.process.stdin is not None
    trainer.process.stdin.close()
    assert trainer.wait() == EXIT_ORPHANED
    assert time.monotonic() - closed < 30
    assert trainer.records[-1]["kind"] != "ended"


def test_on_a_platform_a_judge_inside_the_network_is_not_asked(start: Callable[..., Trainer]) -> None:
    grader = {
        "type": "score_model",
        "model": "j",
        "input": [{"role": "user", "content": "?"}],
        "range": [0, 1],
    }
    with Stub(lambda *_: judged(1)) as stub:
        judges = {"j": Judge(base_url=stub.url, model="m")}
        rewards = [grader | {"name": "low"}]
        trainer = start(judges=judges, source=json.dumps(grader), rewards=rewards, evaluation__rows=0)
        assert trainer.wait() == 0
        assert stub.asked == []
    end = trainer.records[-1]
    assert (end["outcome"], end["reason"]) == ("paused", "judge_unavailable")
    assert "by adding 127.0.0.1 to REINFORGE_ALLOW_HOSTS" in end["traceback"]
