"""One attempt as `worker.trainer.main` assembles it, with real sandboxed rewards: how it ends, and what it says
about it."""

import errno
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from reinforge.errors import JobFailure
from reinforge.offline.train import model_folder, sandbox
from reinforge.records import RewardCode, RunManifest
from tests.support.small_jobs import small_spec, write_rows
from tests.support.tiny_models import write_tiny_model
from worker.policy.forward import activations
from worker.policy.forward.activations import GradientPasses
from worker.policy.lora import LoraPolicy
from worker.policy.parameters import TrainedParameters
from worker.trainer.main import TrainerJob
from worker.trainer.reporter import LocalReporter
from worker.training.job_end import End, end_of

GOOD = """
def grade(sample, item):
    text = sample["output_text"]
    return sum(c < "n" for c in text) / max(1, len(text))
"""
DETAILED = """
def grade(sample, item):
    text = sample["output_text"]
    right = float(item["answer"] in text)
    size = len(text) / 100
    return {
        "score": right + size,
        "steps": [[size, len(text) // 2], [right, len(text)]],
        "criteria": {"right": right, "size": size},
        "candidates": [[right, size], [size, right]],
    }
"""
BROKEN = """
def grade(sample, item):
    return item["no such column"]
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def socket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("s") / "sandbox.sock"
    with sandbox(path, path.parent):
        yield path


class Attempt:
    def __init__(self, folder: Path, model: Path, socket: Path) -> None:
        self.folder, self.model, self.socket = folder, model, socket

    def run(
        self,
        *,
        source: str = GOOD,
        rows: list[dict[str, Any]] | None = None,
        resume: Path | None = None,
        **changes: Any,
    ) -> End:
        reward = self.folder / "reward.py"
        reward.write_text(source, encoding="utf-8")
        dataset = write_rows(self.folder / "rows.jsonl", rows or [{"prompt": f"row {n}"} for n in range(12)])
        manifest = RunManifest(
            job="ftjob-test",
            attempt=1,
            spec=small_spec(**changes).model_dump(mode="json"),
            model_path=str(self.model),
            dataset_path=str(dataset),
            rewards=[RewardCode(name="low", path=str(reward), revision="rew_1@1")],
            sandbox_socket=str(self.socket),
            resume_path=str(resume) if resume else None,
        )
        return TrainerJob(manifest, LocalReporter(self.folder)).run()

    def records(self, kind: str) -> list[dict[str, Any]]:
        lines = (self.folder / "records.jsonl").read_bytes().splitlines()
        return [record for record in map(json.loads, lines) if record["kind"] == kind]


@pytest.fixture
def attempt(tmp_path: Path, model: Path, socket: Path) -> Attempt:
    return Attempt(tmp_path, model, socket)


def test_a_job_succeeds_and_says_what_ran_where(attempt: Attempt) -> None:
    assert attempt.run(limits__steps=2).outcome == "succeeded"
    (started,) = attempt.records("started")
    facts = started["facts"]
    assert facts["architecture"] == "Qwen3ForCausalLM"
    assert facts["trainable_parameters"] == 2 * 4 * (32 + 32 + 32 + 16 + 32 + 16 + 32 + 32 + 3 * (32 + 64))
    assert facts["jail"] and facts["engine"] == "transformers" and facts["versions"]["torch"]
    assert attempt.records("rollouts")[-1]["revisions"] == {"low": "rew_1@1"}
    (ended,) = attempt.records("ended")
    assert (ended["outcome"], ended["step"]) == ("succeeded", 2)
    assert {"loading", "generating", "updating", "saving"} <= {p["phase"] for p in attempt.records("phase")}


def test_a_job_says_how_many_rows_its_own_division_holds_out(attempt: Attempt) -> None:
    pairs = [{"prompt": f"prompt {number // 6}"} for number in range(12)]
    for split_by, rows in (("row", 7), ("prompt", 6)):  # of two prompts with six rows each one as a whole
        data = {"data__split_by": split_by, "data__held_out_rows": 7}
        assert attempt.run(limits__steps=1, rows=pairs, **data).outcome == "succeeded"
        assert attempt.records("started")[-1]["facts"]["held_out_rows"] == rows


def test_a_job_that_turns_gradient_checkpointing_on_says_so(
    attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # one micro-batch at a time, however many cores there are
    monkeypatch.setattr(activations, "memory_at_hand", lambda device: 10_000)
    assert attempt.run(limits__steps=2).outcome == "succeeded"
    before, after = (record["facts"] for record in attempt.records("started"))
    assert (before["gradient_checkpointing"], before["micro_batch_tokens"]) == (False, 2048)
    assert after["gradient_checkpointing"] and after["micro_batch_tokens"] < 64
    assert after["memory_gib"] == before["memory_gib"]
    (line,) = [log["message"] for log in attempt.records("log") if "checkpointing" in log["message"]]
    assert line.startswith("Memory for activations: 4.7e-06 GiB are at hand")


@pytest.mark.parametrize("preset", ["grpo_process", "pow3r", "vpo"])
def test_what_sandboxed_code_returns_beside_the_score_trains_the_starter_model(
    attempt: Attempt, preset: str
) -> None:
    attempt.model = model_folder("starter-arith")
    rows = [{"prompt": f"{n}+{n + 5}=", "answer": str(2 * n + 5)} for n in range(12)]
    changes: dict[str, Any] = {
        "algorithm__preset": preset,
        "rollout__temperature": 1.5,
        "rollout__max_completion_tokens": 30,
        "evaluation__every_steps": 0,
        "limits__steps": 2,
    }
    end = attempt.run(source=DETAILED, rows=rows, **changes)
    assert (end.outcome, end.message) == ("succeeded", None)
    steps = [record["values"] for record in attempt.records("step_metrics")]
    assert steps[-1]["optimizer/updates"] == 2
    assert all(values["optimizer/grad_norm"] > 0 for values in steps)
    assert attempt.records("evaluated")[-1]["values"]["held_out/reward_mean"] is not None


def test_a_reward_that_always_raises_pauses_with_its_traceback_and_can_be_resumed(attempt: Attempt) -> None:
    end = attempt.run(source=BROKEN, evaluation__rows=0, limits__steps=1)
    assert (end.outcome, end.reason) == ("paused", "reward_errors")
    assert "no such column" in (end.traceback or "")
    assert end.hint
    (state,) = attempt.records("resume_state_saved")
    assert state["step"] == 0
    resume = attempt.folder / "blobs" / state["blob"]["sha256"]
    assert attempt.run(resume=resume, evaluation__rows=0, limits__steps=1).outcome == "succeeded"


def test_a_reward_that_does_not_load_pauses(attempt: Attempt) -> None:
    end = attempt.run(source="import no_such_module")
    assert (end.outcome, end.reason) == ("paused", "reward_errors")
    assert "no_such_module" in (end.message or "")


def test_without_a_sandbox_the_job_pauses_before_it_trains(
    attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.trainer.main.SANDBOX_PATIENCE_SECONDS", 0.5)
    attempt.socket = attempt.folder / "nobody.sock"
    end = attempt.run()
    assert (end.outcome, end.reason) == ("paused", "sandbox_unavailable")
    assert attempt.records("rollouts") == []


def test_a_prompt_that_is_too_long_names_its_row(attempt: Attempt) -> None:
    rows = [{"prompt": "short"}] * 5 + [{"prompt": "long " * 60}] + [{"prompt": "short"}] * 6
    end = attempt.run(rows=rows)
    assert (end.outcome, end.reason) == ("failed", "data_error")
    assert "row 6 has 302 tokens; the limit is 246" in (end.message or "")


def test_a_bad_row_is_named_with_its_line(attempt: Attempt) -> None:
    end = attempt.run(rows=[{"prompt": "fine"}, {"prompt": ""}])
    assert (end.outcome, end.reason) == ("failed", "data_error")
    assert "line 2" in (end.message or "")


def test_completions_longer_than_the_context_are_refused(attempt: Attempt) -> None:
    end = attempt.run(rollout__max_completion_tokens=256)
    assert (end.outcome, end.reason) == ("failed", "data_error")
    assert "context of 256" in (end.message or "")


def test_a_model_that_does_not_load_is_a_named_end(attempt: Attempt, tmp_path: Path) -> None:
    attempt.model = tmp_path
    for missing in ("config.json", "tokenizer.json"):
        end = attempt.run()
        assert (end.outcome, end.reason) == ("failed", "model_load_failed")
        assert missing in (end.message or "")
        (tmp_path / missing).write_text("{}")


def truncate_weights(folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])


def remove_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()


def scramble_weights(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"\xff" * 1000)


def mistype_config(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"hidden_size": "wide"}))


def break_config(folder: Path) -> None:
    (folder / "config.json").write_text("{")


@pytest.mark.parametrize(
    "damage",
    [
        truncate_weights,
        remove_weights,
        scramble_weights,
        mistype_config,
        break_config,
    ],
)
def test_a_damaged_model_is_a_named_end_with_its_traceback(
    attempt: Attempt, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    attempt.model = Path(shutil.copytree(attempt.model, tmp_path / "damaged"))
    damage(attempt.model)
    end = attempt.run()
    assert (end.outcome, end.reason) == ("failed", "model_load_failed")
    assert "damaged" in (end.message or "")
    assert end.hint
    assert "Traceback" in (end.traceback or "")


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory."),
        RuntimeError("[enforce fail] DefaultCPUAllocator: not enough memory: you tried"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
    ],
)
def test_a_model_that_is_too_large_is_not_a_damaged_one(
    attempt: Attempt, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("worker.policy.load.AutoModelForCausalLM.from_pretrained", fail)
    end = attempt.run()
    assert (end.outcome, end.reason) == ("paused", "out_of_memory")


def test_a_resume_state_that_cannot_be_read_is_a_named_end(attempt: Attempt, tmp_path: Path) -> None:
    (tmp_path / "state").write_bytes(b"no tar at all")
    assert attempt.run(resume=tmp_path / "state").reason == "resume_state_invalid"


@pytest.mark.parametrize(
    ("error", "outcome", "reason"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"), "paused", "out_of_memory"),
        (
            RuntimeError("[enforce fail] DefaultCPUAllocator: not enough memory: you tried"),
            "paused",
            "out_of_memory",
        ),
        (MemoryError(), "paused", "out_of_memory"),
        (OSError(errno.ENOSPC, "No space left on device"), "paused", "disk_full"),
        (JobFailure("gone", code="sandbox_unavailable", retryable=True), "paused", "sandbox_unavailable"),
        (RuntimeError("something else"), "failed", "trainer_failed"),
    ],
)
def test_every_error_becomes_a_named_end(error: Exception, outcome: str, reason: str) -> None:
    end = end_of(error)
    assert (end.outcome, end.reason) == (outcome, reason)
    assert end.message


def test_a_pause_without_memory_keeps_what_is_whole(
    attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no row fits: the state of the last whole step. In the optimizer, which may have changed half of the
    weights: none but those from before."""
    forward, step = GradientPasses.retry, TrainedParameters.step
    calls = {"retry": 0, "step": 0}

    def no_row_fits(self: GradientPasses, *arguments: Any) -> Any:
        calls["retry"] += 1
        if calls["retry"] == 2:
            raise JobFailure("a row does not fit", code="out_of_memory", hint="Free some.", retryable=True)
        return forward(self, *arguments)

    def no_optimizer_fits(self: TrainedParameters, **arguments: Any) -> float:
        calls["step"] += 1
        if calls["step"] == 2:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
        return step(self, **arguments)

    for owner, name, fails, states in (
        (GradientPasses, "retry", no_row_fits, [1]),
        (TrainedParameters, "step", no_optimizer_fits, []),
    ):
        attempt.folder.joinpath("records.jsonl").unlink(missing_ok=True)
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, fails)
            end = attempt.run(evaluation__rows=0, data__held_out_rows=0)
        assert (end.outcome, end.reason) == ("paused", "out_of_memory") and end.hint
        assert [record["step"] for record in attempt.records("resume_state_saved")] == states


def test_a_job_that_ran_out_of_memory_says_so_and_goes_on(
    attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr(activations, "memory_at_hand", lambda device: None)
    run, failed = LoraPolicy._run, list[int]()

    def once(self: LoraPolicy, *arguments: Any) -> Any:
        if not failed:
            failed.append(1)
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return run(self, *arguments)

    monkeypatch.setattr(LoraPolicy, "_run", once)
    assert attempt.run(limits__steps=2).outcome == "succeeded"
    (line,) = [log for log in attempt.records("log") if "Out of memory" in log["message"]]
    assert (line["level"], line["step"]) == ("info", 0) and "(an allocation of 2.00 GiB failed)" in line[
        "message"
    ]
    before, after = (record["facts"]["micro_batch_tokens"] for record in attempt.records("started"))
    assert after < before and f"at most {after:,} tokens" in line["message"]


def test_a_full_disk_still_lets_the_last_word_out(attempt: Attempt, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: LocalReporter, content: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(LocalReporter, "blob", full)
    assert attempt.run().reason == "disk_full"
    ended = attempt.records("ended")[0]
    assert (ended["outcome"], ended["reason"]) == ("paused", "disk_full")
    assert attempt.records("resume_state_saved") == []
