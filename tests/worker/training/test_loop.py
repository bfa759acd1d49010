"""Whole jobs on tiny random models: records, learning, end."""

import io
import json
import math
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

from reinforge.metrics import METRICS
from reinforge.records import Command
from tests.support.small_jobs import SmallJob, share_of_low_letters, small_spec
from tests.support.tiny_models import write_tiny_model
from worker.rewards.base import RewardsFailed
from worker.sandbox.outcome import RewardRow, RowResult
from worker.training.checkpoint.archive import unpack

TIMES = ("time/", "throughput/", "memory/")


@pytest.fixture(scope="module")
def qwen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("qwen3"))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, qwen: Path) -> SmallJob:
    job = SmallJob(tmp_path_factory.mktemp("job"), qwen, small_spec())
    assert job.train().outcome == "succeeded"
    return job


def without_times(values: dict[str, float | None]) -> dict[str, float | None]:
    return {key: value for key, value in values.items() if not key.startswith(TIMES)}


def table_of(job: SmallJob, record: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(io.BytesIO(job.blob(record))).to_pylist()
    return rows


# ── What a job reports ──────────────────────────────────────────────────────────────────────────────────────


def test_records_come_in_order_and_without_gaps(finished: SmallJob) -> None:
    kinds = [(r.kind, r.step) for r in finished.records() if r.kind not in ("phase", "log")]
    assert kinds[:4] == [("rollouts", 0), ("evaluated", 0), ("rollouts", 1), ("step_metrics", 1)]
    assert [step for kind, step in kinds if kind == "step_metrics"] == [1, 2, 3, 4]
    assert [step for kind, step in kinds if kind == "evaluated"] == [0, 2, 4]
    assert [step for kind, step in kinds if kind == "checkpoint_saved"] == [2, 4]
    assert [step for kind, step in kinds if kind == "resume_state_saved"] == [2]
    assert [r.sequence for r in finished.records()] == list(range(1, len(finished.records()) + 1))
    assert [r.final for r in finished.records("checkpoint_saved")] == [False, True]


def test_every_metric_is_defined(finished: SmallJob) -> None:
    values = finished.records("step_metrics")[0].values
    own = {"reward/low/mean"}
    assert set(values) - own <= set(METRICS)
    optional = {key for key, metric in METRICS.items() if metric.when}
    assert set(METRICS) - set(values) == optional | {key for key in METRICS if key.startswith("held_out/")}
    correlations = {key: value or 0 for key, value in values.items() if key.endswith("_correlation")}
    partial = {*correlations, "completions/length_right_mean", "completions/length_wrong_mean"}
    defined = {key: value for key, value in values.items() if key not in partial}
    assert all(value is not None and math.isfinite(value) for value in defined.values())
    assert all(-1 <= value <= 1 for value in correlations.values())
    assert values["policy/ratio_mean"] == 1.0
    assert values["sampler/gap_max"] < 1e-4
    assert values["reward/low/mean"] == pytest.approx(values["reward/mean"])


def test_the_trainers_own_file_equals_the_records(finished: SmallJob) -> None:
    lines = finished.metrics()
    assert [(line["step"], line["kind"]) for line in lines] == [
        (0, "held_out"), (1, "train"), (2, "train"), (2, "held_out"), (3, "train"), (4, "train"), (4, "held_out"),
    ]  # fmt: skip
    recorded = [r.values for r in finished.records() if r.kind in ("step_metrics", "evaluated")]
    assert [line["values"] for line in lines] == recorded


def test_completions_are_stored_whole_by_group(finished: SmallJob) -> None:
    record = finished.records("rollouts")[1]
    file = pq.ParquetFile(io.BytesIO(finished.blob(record)))
    assert file.num_row_groups == 3
    columns = [file.metadata.row_group(0).column(number) for number in range(file.metadata.num_columns)]
    assert {c.compression for c in columns if "." in c.path_in_schema or c.path_in_schema == "text"} == {
        "ZSTD"
    }
    assert file.read_row_group(1).column("prompt_no").to_pylist() == [1] * 4
    rows = file.read().to_pylist()
    for row, status in zip(rows, record.rows, strict=True):
        assert (row["reward"], row["advantage"], row["length"]) == (
            status.reward,
            status.advantage,
            status.length,
        )
        assert len(row["token_ids"]) == len(row["tokens"]) == len(row["sampler_logprobs"]) == row["length"]
        assert row["trainer_logprobs"] == pytest.approx(row["sampler_logprobs"], abs=1e-4)
        assert all(entropy > 0 for entropy in row["entropies"])
        assert row["prompt"].startswith("<user>row ")
        assert json.loads(row["prompt_messages"])[0]["role"] == "user"
        (result,) = json.loads(row["rewards"])
        assert (result["name"], result["status"], result["revision"]) == ("low", "ok", "low@1")
        assert row["reward"] == pytest.approx(result["value"])
        assert share_of_low_letters(RewardRow("", row["text"])) == pytest.approx(row["reward"])
    for number in range(3):
        assert sum(row["advantage"] for row in rows if row["prompt_no"] == number) == pytest.approx(
            0, abs=1e-9
        )


def test_evaluation_keeps_to_the_held_out_rows(finished: SmallJob) -> None:
    held_out = {row.index for row in finished.prompts.held_out}
    for record in finished.records("rollouts"):
        rows = {row.row_index for row in record.rows}
        assert (rows <= held_out) if record.split == "held_out" else not (rows & held_out)
    first = finished.records("evaluated")[0]
    assert (first.rows, first.samples_per_row) == (3, 2)
    assert first.values["held_out/error_share"] == 0


def test_the_final_adapter_explains_the_stored_completions(
    finished: SmallJob, qwen: Path, tmp_path: Path
) -> None:
    """The last evaluation was sampled by the policy that the last checkpoint holds."""
    checkpoint = finished.records("checkpoint_saved")[-1]
    for name, content in unpack(finished.blob(checkpoint)).items():
        (tmp_path / name).write_bytes(content)
    model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(qwen), tmp_path).eval()
    rows = table_of(finished, finished.records("rollouts")[-1])
    for row in rows:
        prompt = finished.tokenizer(row["prompt"], add_special_tokens=False)["input_ids"]
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([[*prompt, *row["token_ids"]]])).logits[
                0, len(prompt) - 1 : -1
            ]
        expected = torch.log_softmax(logits, -1).gather(1, torch.tensor(row["token_ids"])[:, None])[:, 0]
        torch.testing.assert_close(torch.tensor(row["sampler_logprobs"]), expected, atol=1e-5, rtol=0)


# ── It learns, the same way every time ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("architecture", ["qwen3", "llama"])
@pytest.mark.parametrize("preset", ["grpo", "dr_grpo"])
def test_the_reward_rises(tmp_path: Path, architecture: Any, preset: str) -> None:
    model = write_tiny_model(tmp_path / "model", architecture)
    changes: dict[str, Any] = {
        "algorithm__preset": preset,
        "limits__steps": 20,
        "rollout__prompts_per_step": 6,
        "rollout__completions_per_prompt": 8,
        "adapter__rank": 8,
        "optimizer__learning_rate": 0.04,
        "evaluation__every_steps": 0,
        "evaluation__samples_per_row": 8,
    }
    job = SmallJob(tmp_path / "job", model, small_spec(**changes))
    job.train()
    before, after = (record.values["held_out/reward_mean"] for record in job.records("evaluated"))
    assert after > before + 0.06  # the smallest of the four rises by 0.10, the largest by 0.4


def test_two_runs_are_equal(tmp_path: Path, qwen: Path, finished: SmallJob) -> None:
    again = SmallJob(tmp_path, qwen, small_spec())
    again.train()
    for one, two in zip(finished.metrics(), again.metrics(), strict=True):
        assert without_times(one["values"]) == without_times(two["values"])
    assert again.records("checkpoint_saved")[-1].blob == finished.records("checkpoint_saved")[-1].blob


@pytest.mark.parametrize("updates", [1, 3])
def test_a_continued_job_ends_with_the_same_adapter(tmp_path: Path, qwen: Path, updates: int) -> None:
    spec = small_spec(algorithm__updates_per_step=updates, limits__steps=5)
    whole = SmallJob(tmp_path / "whole", qwen, spec)
    whole.train()
    (state, _) = whole.records("resume_state_saved")
    assert state.step == 2
    rest = SmallJob(tmp_path / "rest", qwen, spec, resume=whole.blob(state))
    rest.train()
    assert [r.step for r in rest.records("step_metrics")] == [3, 4, 5]
    assert [r.step for r in rest.records("evaluated")] == [4, 5]
    assert rest.records("checkpoint_saved")[-1].blob == whole.records("checkpoint_saved")[-1].blob
    ends = [without_times(job.metrics()[-1]["values"]) for job in (whole, rest)]
    assert ends[0] == ends[1]


def test_another_seed_is_another_job(tmp_path: Path, qwen: Path, finished: SmallJob) -> None:
    other = SmallJob(tmp_path, qwen, small_spec(seed=6, limits__steps=2))
    other.train()
    texts = [{row.text for row in job.records("rollouts")[1].rows} for job in (finished, other)]
    assert texts[0] != texts[1]


# ── Slots and settings ──────────────────────────────────────────────────────────────────────────────────────


def test_several_updates_and_a_reference(tmp_path: Path, qwen: Path) -> None:
    changes: dict[str, Any] = {
        "algorithm__updates_per_step": 3,
        "algorithm__loss": {
            "kl": {"beta": 0.1, "estimator": "k2"},
            "surrogate": {"type": "ppo_clip", "eps_low": 0.01},
        },
        "optimizer__learning_rate": 0.05,
        "optimizer__schedule": "linear",
        "optimizer__warmup_steps": 1,
    }
    job = SmallJob(tmp_path, qwen, small_spec(**changes))
    job.train()
    values = [r.values for r in job.records("step_metrics")]
    assert values[-1]["optimizer/updates"] <= 12
    assert values[0]["policy/ratio_mean"] != 1.0
    assert values[0]["kl/mean"] < values[-1]["kl/mean"]
    assert [v["optimizer/learning_rate"] for v in values] == pytest.approx(
        [0.05, 0.05, 0.05 * 2 / 3, 0.05 / 3]
    )


def test_weights_combine_rewards_and_parts_are_metrics(tmp_path: Path, qwen: Path) -> None:
    def grade(row: RewardRow) -> RowResult:
        return RowResult("ok", 1.0, parts={"letters": len(row.completion) / 100})

    source = "def grade(sample, item): ..."
    rewards = [
        {"type": "python", "name": name, "weight": weight, "source": source}
        for name, weight in (("a", 2.0), ("b", -0.5))
    ]
    job = SmallJob(
        tmp_path, qwen, small_spec(rewards=rewards, limits__steps=1, evaluation__rows=0), grade=grade
    )
    job.train()
    values = job.records("step_metrics")[0].values
    assert values["reward/mean"] == 1.5
    assert values["reward/a/mean"] == 1.0
    assert 0 < values["reward/b/part/letters"] < 0.2


def test_a_uniform_step_makes_no_update(tmp_path: Path, qwen: Path) -> None:
    job = SmallJob(tmp_path, qwen, small_spec(limits__steps=1), grade=lambda row: 1.0)
    before = job.policy.state().adapter
    job.train()
    values = job.records("step_metrics")[0].values
    assert (values["optimizer/updates"], values["optimizer/grad_norm"]) == (0, None)
    assert (values["groups/zero_variance_share"], values["groups/all_right_share"]) == (1, 1)
    assert values["entropy/mean"] > 0
    assert all(torch.equal(tensor, before[key]) for key, tensor in job.policy.state().adapter.items())


def test_one_row_and_text_beyond_ascii(tmp_path: Path, qwen: Path) -> None:
    rows = [{"prompt": "Wie heißt „東京“ auf Deutsch? 🗼", "answer": "Tokio"}]
    job = SmallJob(tmp_path, qwen, small_spec(data__held_out_rows=None, limits__steps=2), rows=rows)
    assert job.train().outcome == "succeeded"
    assert any("no held-out evaluation" in note for note in job.prompts.notes)
    assert job.records("evaluated") == []
    stored = table_of(job, job.records("rollouts")[0])
    assert stored[0]["prompt"] == f"<user>{rows[0]['prompt']}<assistant>"
    assert json.loads(stored[0]["item"]) == rows[0]
    # The same row three times in a step, sampled with noise of its own each time.
    assert len({tuple(row["token_ids"]) for row in stored}) == len(stored)
    for row in stored:
        # How many replacement characters stand for broken UTF-8 is a matter of taste; everything else is not.
        assert _legible("".join(row["tokens"])) == _legible(job.tokenizer.decode(row["token_ids"]))


def _legible(text: str) -> str:
    return text.replace("�", "")


# ── Reward errors ───────────────────────────────────────────────────────────────────────────────────────────


def test_rows_whose_reward_fails_are_marked_and_left_out(tmp_path: Path, qwen: Path) -> None:
    def grade(row: RewardRow) -> RowResult | float:
        if len(row.completion) % 5 == 0:
            return RowResult("exception", message="Traceback\nValueError: no")
        return share_of_low_letters(row)

    job = SmallJob(
        tmp_path, qwen, small_spec(limits__error_share=1.0, rollout__completions_per_prompt=8), grade=grade
    )
    assert job.train().outcome == "succeeded"
    statuses = [row for record in job.records("rollouts") if record.split == "train" for row in record.rows]
    failed = [row for row in statuses if row.error]
    assert failed
    assert {(row.reward, row.advantage, row.error) for row in failed} == {(None, None, "exception")}
    assert all(row.reward is not None and row.advantage is not None for row in statuses if not row.error)
    assert 0 < job.records("step_metrics")[0].values["reward/error_share"] < 1
    assert job.records("step_metrics")[0].values["optimizer/updates"] == 1


def failing(row: RewardRow) -> RowResult:
    return RowResult("exception", message="Traceback\nKeyError: 'answer'")


def test_a_reward_that_always_fails_ends_the_step_before_it_trains(tmp_path: Path, qwen: Path) -> None:
    job = SmallJob(tmp_path, qwen, small_spec(evaluation__rows=0), grade=failing)
    with pytest.raises(RewardsFailed) as caught:
        job.train()
    assert "KeyError" in (caught.value.traceback or "")
    assert job.position.step == 0
    (stored,) = job.records("rollouts")
    assert {row.error for row in stored.rows} == {"exception"}
    assert job.records("step_metrics") == []


def test_a_reward_that_always_fails_is_detected_before_the_first_step(tmp_path: Path, qwen: Path) -> None:
    job = SmallJob(tmp_path, qwen, small_spec(), grade=failing)
    with pytest.raises(RewardsFailed):
        job.train()
    assert [(r.kind, r.step) for r in job.records() if r.kind in ("rollouts", "evaluated")] == [
        ("rollouts", 0),
        ("evaluated", 0),
    ]


# ── Commands and limits ─────────────────────────────────────────────────────────────────────────────────────


def when_step(job: SmallJob, step: int, kind: Any) -> None:
    """Send a command as soon as the metrics of `step` are there."""
    report = job.reporter.metrics

    def watching(done: int, split: Any, values: Any) -> None:
        report(done, split, values)
        if (done, split) == (step, "train"):
            job.reporter.receive(Command(id="cmd", kind=kind))

    job.reporter.metrics = watching  # type: ignore[method-assign]


def test_checkpoint_on_command(tmp_path: Path, qwen: Path) -> None:
    job = SmallJob(tmp_path, qwen, small_spec())
    when_step(job, 1, "checkpoint")
    job.train()
    assert [r.step for r in job.records("checkpoint_saved")] == [1, 2, 4]
    assert [r.step for r in job.records("resume_state_saved")] == [1, 2]
    assert [(r.command, r.step) for r in job.records("command_applied")] == [("cmd", 1)]


def test_cancel_at_a_boundary(tmp_path: Path, qwen: Path) -> None:
    job = SmallJob(tmp_path, qwen, small_spec())
    when_step(job, 2, "cancel")
    assert job.train().outcome == "cancelled"
    assert job.position.step == 2


def test_cancel_interrupts_sampling(tmp_path: Path, qwen: Path) -> None:
    changes: dict[str, Any] = {"rollout__max_completion_tokens": 100_000, "evaluation__rows": 0}
    job = SmallJob(tmp_path, qwen, small_spec(**changes))
    object.__setattr__(job.base, "stop_ids", ())

    def cancel() -> None:
        deadline = time.monotonic() + 30
        while not job.records("phase") and time.monotonic() < deadline:
            time.sleep(0.01)
        job.reporter.receive(Command(id="cmd", kind="cancel"))

    thread = threading.Thread(target=cancel)
    thread.start()
    assert job.train().outcome == "cancelled"
    thread.join()
    assert job.records("rollouts") == []


def test_the_time_limit_ends_a_job_with_what_it_has(tmp_path: Path, qwen: Path) -> None:
    job = SmallJob(tmp_path, qwen, small_spec(limits__max_seconds=0.001, limits__steps=1000))
    outcome = job.train()
    assert (outcome.outcome, outcome.reason) == ("succeeded", "time_limit")
    assert job.position.step < 1000
