"""Selection in a job: more prompts where groups have no signal, fewer completions, repaired ones; and what a reward
returns beside its score reaches shaping and advantage."""

import io
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch

from reinforge.errors import JobFailure
from tests.support.small_jobs import SmallJob, share_of_low_letters, small_spec
from tests.support.tiny_models import write_tiny_model
from worker.environment.base import Prompt, Segment
from worker.rollout.collect import Rollout
from worker.sandbox.outcome import RewardRow, RowResult
from worker.training.batch import end_token

ROWS = [{"prompt": f"row {n}", "answer": f"{n}", "solution": f"it is {n}"} for n in range(12)]
SHORT: dict[str, Any] = {"limits__steps": 2, "evaluation__rows": 0, "data__held_out_rows": 0}


@pytest.fixture(scope="module")
def qwen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("qwen3"))


def run(folder: Path, model: Path, grade: Any, **changes: Any) -> SmallJob:
    job = SmallJob(folder, model, small_spec(**(SHORT | changes)), rows=ROWS, grade=grade)
    assert job.train().outcome == "succeeded"
    return job


def first_step(job: SmallJob) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    record = next(r for r in job.records("rollouts") if r.split == "train")
    rows: list[dict[str, Any]] = pq.read_table(io.BytesIO(job.blob(record))).to_pylist()
    return job.records("step_metrics")[0].values, rows


# ── Dynamic sampling ────────────────────────────────────────────────────────────────────────────────────────


def signal_on_even_rows(row: RewardRow) -> float:
    return share_of_low_letters(row) if int(row.item["answer"]) % 2 == 0 else 0.0


def test_groups_without_signal_are_replaced_by_other_prompts(tmp_path: Path, qwen: Path) -> None:
    job = run(tmp_path, qwen, signal_on_even_rows, algorithm__selection={"type": "dynamic_sampling"})
    values, rows = first_step(job)
    trained = {row["prompt_no"] for row in rows if row["advantage"] is not None}
    assert len(trained) == 3
    assert all(
        int(row["prompt"].split("row ")[1].split("<")[0]) % 2 == 0
        for row in rows
        if row["prompt_no"] in trained
    )
    groups = {row["prompt_no"]: row["row_index"] for row in rows}
    assert len(set(groups.values())) == len(groups) > 3
    assert values["select/rounds"] > 1 and values["select/missing_groups"] == 0
    assert values["select/uniform_share"] == pytest.approx(1 - 3 / len(groups), abs=0.2)
    # All of them were sampled with noise of their own, and looked at by the trainer.
    assert len({tuple(row["token_ids"]) for row in rows}) == len(rows)
    assert all(entropy > 0 for row in rows for entropy in row["entropies"])


def test_sampling_again_stops_at_its_bound_and_says_so(tmp_path: Path, qwen: Path) -> None:
    selection = {"type": "dynamic_sampling", "max_rounds": 2}
    job = run(tmp_path, qwen, lambda row: 1.0, algorithm__selection=selection)
    values, rows = first_step(job)
    assert (values["select/rounds"], values["select/missing_groups"]) == (2, 3)
    assert len(rows) == 2 * 3 * 4
    assert values["optimizer/updates"] == 0


def test_sampling_again_ends_when_every_row_was_tried(tmp_path: Path, qwen: Path) -> None:
    job = run(
        tmp_path, qwen, lambda row: 1.0, algorithm__selection={"type": "dynamic_sampling", "max_rounds": 99}
    )
    values, rows = first_step(job)
    assert len(rows) == 12 * 4
    assert values["select/missing_groups"] == 3


def test_a_continued_job_samples_the_same_prompts_again(tmp_path: Path, qwen: Path) -> None:
    changes: dict[str, Any] = {
        "algorithm__selection": {"type": "gfpo_adaptive", "keep_easy": 2, "keep_medium": 2, "keep_hard": 3,
                                 "keep_very_hard": 3, "warmup": 2, "first": {"type": "dynamic_sampling"}},
        "limits__steps": 4,
    }  # fmt: skip
    whole = run(tmp_path / "whole", qwen, signal_on_even_rows, **changes)
    (state, *_) = whole.records("resume_state_saved")
    spec = small_spec(**(SHORT | changes))
    rest = SmallJob(
        tmp_path / "rest", qwen, spec, rows=ROWS, grade=signal_on_even_rows, resume=whole.blob(state)
    )
    assert rest.position.algorithm["selection"]["sketch"]
    rest.train()
    assert rest.position.algorithm == whole.position.algorithm
    assert rest.records("checkpoint_saved")[-1].blob == whole.records("checkpoint_saved")[-1].blob


# ── Kept and repaired completions ───────────────────────────────────────────────────────────────────────────


def test_the_shortest_completions_are_selected(tmp_path: Path, qwen: Path) -> None:
    changes: dict[str, Any] = {
        "algorithm__selection": {"type": "gfpo", "keep": 2},
        "algorithm__loss": {"aggregation": {"type": "token_mean", "denominator": "all"}},
        "rollout__stop": list("aeiouy "),
    }
    job = run(tmp_path, qwen, share_of_low_letters, **changes)
    values, rows = first_step(job)
    assert values["select/kept_share"] == 0.5
    for number in range(3):
        group = [row for row in rows if row["prompt_no"] == number]
        lengths = [row["length"] for row in group if row["advantage"] is not None]
        left = [row["length"] for row in group if row["advantage"] is None]
        assert len(lengths) == 2 and max(lengths) <= min(left)


def test_completions_left_out_can_still_count_in_the_average(tmp_path: Path, qwen: Path) -> None:
    norms, shares = {}, []
    for denominator in ("kept", "all"):
        changes: dict[str, Any] = {
            "algorithm__selection": {"type": "gfpo", "keep": 2},
            "algorithm__loss": {"aggregation": {"type": "token_mean", "denominator": denominator}},
            "rollout__stop": list("aeiouy "),
            "limits__steps": 1,
        }
        values, rows = first_step(run(tmp_path / denominator, qwen, share_of_low_letters, **changes))
        norms[denominator] = values["optimizer/grad_norm"]
        trained_tokens = sum(row["length"] for row in rows if row["advantage"] is not None)
        shares.append(trained_tokens / sum(row["length"] for row in rows))
    assert shares[0] == shares[1] < 0.5
    assert norms["all"] / norms["kept"] == pytest.approx(shares[0], rel=1e-3)


@pytest.mark.parametrize("train_injected", [False, True])
def test_wrong_completions_are_repaired_and_scored_again(
    tmp_path: Path, qwen: Path, train_injected: bool
) -> None:
    def grade(row: RewardRow) -> float:
        return 1.0 if row.item["solution"] in row.completion else 0.2 if "hm" in row.completion else 0.0

    selection = {
        "type": "guided_correction",
        "cue": " hm ",
        "cue_share": 0.4,
        "answer_share": 0.3,
        "max_tokens": 5,
        "train_injected": train_injected,
    }
    job = run(tmp_path, qwen, grade, algorithm__selection=selection, algorithm__advantage={"type": "eda"})
    values, rows = first_step(job)
    assert values["select/repaired_share"] == 1
    kinds = {"solution": 0, "answer": 0, "cue": 0}
    trained = 0
    for row in rows:
        if row["text"] == ROWS[row["row_index"]]["solution"]:
            kinds["solution"] += 1
            assert row["reward"] == 1
            trained += row["length"] * train_injected
            continue
        assert " hm " in row["text"] and row["reward"] == 0.2
        boxed = f"\\boxed{{{ROWS[row['row_index']]['answer']}}}" in row["text"]
        kinds["answer" if boxed else "cue"] += 1
        written = sum(logprob != 0 for logprob in row["sampler_logprobs"])
        trained += row["length"] if train_injected else written
    assert min(kinds.values()) > 0
    assert values["tokens/trained"] == trained


def test_a_repair_without_a_column_to_take_it_from_is_named(tmp_path: Path, qwen: Path) -> None:
    selection = {"type": "guided_correction", "cue_share": 0.0, "answer_share": 0.0}
    job = SmallJob(tmp_path, qwen, small_spec(**SHORT, algorithm__selection=selection), grade=lambda row: 0.0)
    with pytest.raises(JobFailure) as caught:
        job.train()
    assert caught.value.code == "data_error"
    assert "no column solution or answer" in str(caught.value)


# ── What rewards return beside their score ──────────────────────────────────────────────────────────────────


def test_steps_give_their_tokens_credit(tmp_path: Path, qwen: Path) -> None:
    def grade(row: RewardRow) -> RowResult:
        good = len(row.completion) % 2
        return RowResult("ok", 0.5, steps=[(1.0 - good, 4), (float(good), len(row.completion))])

    job = run(tmp_path, qwen, grade, algorithm__advantage={"type": "process"})
    values, rows = first_step(job)
    assert values["optimizer/updates"] == 1
    assert {row["reward"] for row in rows} == {0.5}
    assert len({round(row["advantage"], 6) for row in rows}) > 1


@pytest.mark.parametrize(
    ("slots", "field"),
    [({"shaping": {"type": "pow3r"}}, "criteria"), ({"shaping": {"type": "vpo"}}, "candidates"),
     ({"advantage": {"type": "process"}}, "steps")],
)  # fmt: skip
def test_a_reward_that_does_not_return_what_a_slot_reads_ends_the_job(
    tmp_path: Path, qwen: Path, slots: dict[str, Any], field: str
) -> None:
    job = SmallJob(tmp_path, qwen, small_spec(**SHORT, algorithm=slots))
    with pytest.raises(JobFailure) as caught:
        job.train()
    assert (caught.value.code, field in str(caught.value)) == ("algorithm_input_missing", True)
    assert caught.value.hint


def test_the_weights_of_criteria_travel_with_the_job_and_not_into_its_metrics(
    tmp_path: Path, qwen: Path
) -> None:
    def grade(row: RewardRow) -> RowResult:
        return RowResult("ok", 0.25, criteria={"low": share_of_low_letters(row), "always": 1.0})

    shaping = {"type": "pow3r", "weights": {"low": 1.0, "always": 3.0}}
    job = run(tmp_path, qwen, grade, algorithm__shaping=shaping)
    alphas = job.position.algorithm["shaping"]["alpha"]
    assert all(moved["low/low"] > 1 > moved["low/always"] for moved in alphas.values())
    assert {row["reward"] for row in first_step(job)[1]} == {0.25}  # the reward's own score
    values = job.records("step_metrics")[0].values
    assert values["reward/mean"] == 0.25
    assert 0.75 < values["reward/shaped_mean"] < 1


def test_the_end_of_a_step_is_located_in_tokens(qwen: Path, tmp_path: Path) -> None:
    job = SmallJob(tmp_path, qwen, small_spec())
    text = "ab 東京 cd"
    ids = job.prompts.renderer.plain_ids(text)
    prompt = Prompt(0, {}, [], "", (), "")
    ended = Rollout(prompt, 0, 0, (Segment((*ids, 1), "policy"),), text, "stop")
    for end in range(1, len(text)):
        tokens = end_token(ended, end, job.text.completions)
        assert job.text.completion(ids[:tokens]).startswith(text[:end])
        assert not job.text.completion(ids[: tokens - 1]).startswith(text[:end])
    assert end_token(ended, len(text), job.text.completions) == len(ids) + 1


def test_the_distance_from_the_reference_comes_off_the_reward(tmp_path: Path, qwen: Path) -> None:
    """A reward that is the same everywhere: all signal is the distance, and it holds the policy back."""
    changes: dict[str, Any] = {
        "algorithm__shaping": {"type": "weighted_sum", "kl": {"beta": 1.0}},
        "optimizer__learning_rate": 0.05,
        "limits__steps": 3,
    }
    job = run(tmp_path, qwen, lambda row: 1.0, **changes)
    steps = [record.values for record in job.records("step_metrics")]
    assert steps[0]["kl/mean"] == pytest.approx(0, abs=1e-9)
    assert steps[-1]["reward/mean"] == 1.0
    assert torch.isfinite(torch.tensor(steps[-1]["loss/policy"]))


# ── Memory between two rounds ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("changes", "rests"),
    [
        ({}, ["rest"]),
        (
            {"algorithm__shaping": {"type": "weighted_sum", "kl": {"beta": 0.1}}},
            ["rest", "pass", "pass", "rest"],
        ),
    ],
    ids=["no-passes", "kl-in-the-reward"],
)
def test_the_engine_rests_before_passes_of_the_reward(
    tmp_path: Path, qwen: Path, changes: dict[str, Any], rests: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a server holds on the trainer's GPU is the passes' by then; without any it rests once, before the update."""
    job = SmallJob(tmp_path, qwen, small_spec(**(SHORT | changes | {"limits__steps": 1})), rows=ROWS)
    events: list[str] = []
    score = job.policy._score_all

    async def rest() -> None:
        events.append("rest")

    def scored(*arguments: Any) -> Any:
        events.append("pass")
        return score(*arguments)

    monkeypatch.setattr(job.engine, "rest", rest)
    monkeypatch.setattr(job.policy, "_score_all", scored)
    assert job.train().outcome == "succeeded"
    assert events == rests
