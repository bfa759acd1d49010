"""`python -m worker.trainer.main` as a supervisor sees it: records on a pipe, commands on standard input, EOF."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from reinforge.offline.train import sandbox
from reinforge.records import RewardCode, RunManifest
from reinforge.reward_spec.judges import Judge
from tests.support.judge_stub import Stub, judged
from tests.support.small_jobs import small_spec, write_rows
from tests.support.tiny_models import write_tiny_model
from worker.machine.cpu_share import available_cores
from worker.trainer.reporter import EXIT_ORPHANED

REWARD = "def grade(sample, item):\n    return len(sample['output_text']) % 7 / 7\n"
DEADLINE = 120.0


class Trainer:
    """A trainer process with its pipes."""

    def __init__(self, folder: Path, *, copies: bool) -> None:
        """copies: it may sample in copies of itself, too."""
        self.folder = folder
        self.records: list[dict[str, Any]] = []
        self.lines = b""
        self._news = threading.Condition()
        read, write = os.pipe()
        command = [sys.executable, "-m", "worker.trainer.main", "--run", str(folder)]
        variables = {} if copies else {"OMP_NUM_THREADS": "1"}
        before = {key: value for key, value in os.environ.items() if key != "OMP_NUM_THREADS"}
        self._log = (folder / "trainer.log").open("wb")
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=self._log, stderr=self._log, pass_fds=[write],
            env=before | variables | {"REINFORGE_RECORD_FD": str(write)},
        )  # fmt: skip
        os.close(write)
        self._reader = threading.Thread(target=self._read, args=(read,), daemon=True)
        self._reader.start()

    def send(self, kind: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"id": "cmd_1", "kind": kind}).encode() + b"\n")
        self.process.stdin.flush()

    def until(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first record of which `found` holds."""
        with self._news:
            ok = self._news.wait_for(lambda: any(map(condition, self.records)), DEADLINE)
        assert ok, (self.folder / "trainer.log").read_text(errors="replace")[-3000:]
        return next(filter(condition, self.records))

    @property
    def copies(self) -> list[int]:
        """Processes of those that sample beside it."""
        return [pid for pid in children(self.process.pid) if command(pid) == command(self.process.pid)]

    @property
    def log(self) -> str:
        return (self.folder / "trainer.log").read_text(errors="replace")

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
        copies: bool = False,
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
        started.append(Trainer(folder, copies=copies))
        return started[-1]

    yield begin
    for trainer in started:
        if trainer.process.poll() is None:
            trainer.process.kill()
        trainer.wait()


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def command(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def of_step(kind: str, step: int) -> Callable[[dict[str, Any]], bool]:
    return lambda record: record["kind"] == kind and record["step"] == step


@pytest.mark.parametrize("preset", ["grpo", pytest.param("ppo", marks=pytest.mark.long)])
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


needs_two_cores = pytest.mark.skipif(available_cores() < 2, reason="no core is left for a copy")
COPIES: dict[str, Any] = {
    "copies": True,
    "rollout__prompts_per_step": 12,
    "rollout__completions_per_prompt": 4,
}
"""Completions enough for two processes."""


@pytest.mark.long
@needs_two_cores
def test_a_job_that_is_sampled_by_two_processes_continues_to_the_same_adapter(
    start: Callable[..., Trainer],
) -> None:
    whole = start(name="whole", limits__steps=4, **COPIES)
    assert whole.wait() == 0

    killed = start(name="killed", limits__steps=4, **COPIES)
    killed.until(of_step("step_metrics", 3))
    (copy,) = killed.copies
    killed.process.kill()
    killed.wait()
    assert gone(copy)
    state = next(record for record in killed.records if record["kind"] == "resume_state_saved")

    resume = killed.folder / "blobs" / state["blob"]["sha256"]
    rest = start(name="rest", resume=resume, limits__steps=4, **COPIES)
    assert rest.wait() == 0
    finals = [
        next(r for r in t.records if r["kind"] == "checkpoint_saved" and r["final"]) for t in (whole, rest)
    ]
    assert finals[0]["blob"] == finals[1]["blob"]


@pytest.mark.long
@needs_two_cores
def test_a_job_goes_on_without_a_copy_that_is_killed(start: Callable[..., Trainer]) -> None:
    trainer = start(limits__steps=60, **COPIES)
    trainer.until(of_step("step_metrics", 1))
    (copy,) = trainer.copies
    os.kill(copy, signal.SIGKILL)
    assert trainer.wait() == 0
    messages = [record["message"] for record in trainer.records if record["kind"] == "log"]
    (message,) = [message for message in messages if message.startswith("Sampling continues")]
    assert message.startswith(f"Sampling continues with 1 processes: sampling process {copy}")
    assert trainer.records[-1]["outcome"] == "succeeded" and "Traceback" not in trainer.log


@needs_two_cores
@pytest.mark.parametrize(
    ("during", "command"),
    [
        ("sampling", "cancel"),
        ("evaluation", "pause"),
        pytest.param("sampling", "pause", marks=pytest.mark.long),
        pytest.param("evaluation", "cancel", marks=pytest.mark.long),
    ],
)
def test_commands_to_a_job_reach_its_copies(start: Callable[..., Trainer], command: str, during: str) -> None:
    """Nobody waits for the longest completion, but for a pause while a step is sampled, which ends with that step."""
    tokens = 230 if (command, during) != ("pause", "sampling") else 20
    evaluation = {"evaluation__rows": 3, "evaluation__samples_per_row": 64, "evaluation__every_steps": 1}
    settings = COPIES | (evaluation if during == "evaluation" else {"evaluation__rows": 0})
    trainer = start(limits__steps=1000, rollout__max_completion_tokens=tokens, **settings)
    trainer.until(
        lambda record: (
            record["kind"] == "phase"
            and record["phase"] == ("evaluating" if during == "evaluation" else "generating")
        )
    )
    (copy,) = trainer.copies
    trainer.send(command)
    assert trainer.wait() == 0
    outcome = {"cancel": "cancelled", "pause": "paused"}[command]
    assert (trainer.records[-1]["outcome"], trainer.records[-1]["reason"]) == (
        outcome,
        f"{command}_requested",
    )
    assert gone(copy) and "Traceback" not in trainer.log and "exception" not in trainer.log


def gone(pid: int) -> bool:
    """Whether the process ends within seconds; it may not have been asked how."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state in "ZX":
            return True
        time.sleep(0.02)
    return False


def test_the_end_of_standard_input_ends_the_process(start: Callable[..., Trainer]) -> None:
    trainer = start(limits__steps=100_000)
    trainer.until(of_step("step_metrics", 1))
    closed = time.monotonic()
    assert trainer.process.stdin is not None
    trainer.process.stdin.close()
    assert trainer.wait() == EXIT_ORPHANED
    assert time.monotonic() - closed < 30
    assert trainer.records[-1]["kind"] != "ended"


@pytest.mark.long
def test_on_a_platform_a_judge_inside_the_network_is_not_called(start: Callable[..., Trainer]) -> None:
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
        assert stub.requests == []
    end = trainer.records[-1]
    assert (end["outcome"], end["reason"]) == ("paused", "judge_unavailable")
    assert "by adding 127.0.0.1 to REINFORGE_ALLOW_HOSTS" in end["traceback"]
