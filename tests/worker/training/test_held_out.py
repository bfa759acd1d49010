"""The held-out figure is the user's reward: nothing that the algorithm's slots do to a reward is in it."""

from pathlib import Path
from typing import Any

import pytest

from reinforge.metrics import describe
from reinforge.records import Record
from tests.support.small_jobs import SmallJob, share_of_low_letters, small_spec
from tests.support.tiny_models import write_tiny_model
from worker.sandbox.outcome import RewardRow, RowResult

TERMS = {"soft_overlong": {"weight": 1.0, "cache": 9}, "cosine_length": {"weight": 0.5}}
SHAPINGS: dict[str, dict[str, Any]] = {
    "dapo": {"preset": "dapo"},
    "every term": {"shaping": {"type": "weighted_sum", "repetition": {"weight": 2.0, "n": 1}, **TERMS}},
    "distance": {"preset": "rloo"},
    "distance of tokens": {"preset": "reinforce_pp"},
    "rubric": {"shaping": {"type": "pow3r", "weights": {"short": 5.0}, **TERMS}},
    "candidates": {"preset": "vpo"},
    "standardised": {"preset": "mo_grpo"},
}


def grade(row: RewardRow) -> RowResult:
    low = share_of_low_letters(row)
    short = float(len(row.completion) < 9)
    return RowResult(
        "ok", low, parts={"low": low}, criteria={"low": low, "short": short}, candidates=[[low, short]]
    )


def job_of(folder: Path, model: Path, algorithm: dict[str, Any]) -> SmallJob:
    source = "def grade(sample, item): ..."
    rewards = [
        {"type": "python", "name": name, "weight": weight, "source": source}
        for name, weight in (("first", 1.0), ("second", 0.5))
    ]
    spec = small_spec(rewards=rewards, algorithm=algorithm, limits__steps=1, rollout__temperature=1.0)
    job = SmallJob(folder, model, spec, grade=grade)
    job.train()
    return job


@pytest.fixture(scope="module")
def qwen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("qwen3"))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory, qwen: Path) -> SmallJob:
    return job_of(tmp_path_factory.mktemp("plain"), qwen, {"preset": "grpo"})


def rewards(record: Record) -> list[float | None]:
    return [row.reward for row in record.rows]


@pytest.mark.parametrize("name", SHAPINGS)
def test_no_shaping_is_in_the_reward(tmp_path: Path, qwen: Path, plain: SmallJob, name: str) -> None:
    shaped = job_of(tmp_path, qwen, SHAPINGS[name])
    before, expected = (job.records("evaluated")[0].values for job in (shaped, plain))
    assert before == expected
    assert rewards(shaped.records("rollouts")[0]) == rewards(plain.records("rollouts")[0])

    values, plainly = (job.records("step_metrics")[0].values for job in (shaped, plain))
    assert values["reward/mean"] == pytest.approx(1.5 * values["reward/first/mean"])
    if name != "dapo":  # which samples again
        assert rewards(shaped.records("rollouts")[1]) == rewards(plain.records("rollouts")[1])
        assert values["reward/p90"] == plainly["reward/p90"]

    if name == "standardised":
        assert "reward/shaped_mean" not in values
    elif "distance" in name:  # of which the first step has none
        assert values["reward/shaped_mean"] == pytest.approx(values["reward/mean"])
    else:
        assert abs(values["reward/shaped_mean"] - values["reward/mean"]) > 0.01


def test_each_reward_has_held_out_figures_of_its_own(plain: SmallJob) -> None:
    values = plain.records("evaluated")[0].values
    assert 0 < values["held_out/first/mean"] < 1
    assert values["held_out/second/part/low"] == values["held_out/first/mean"]
    assert values["held_out/reward_mean"] == pytest.approx(1.5 * values["held_out/first/mean"])
    assert "reward/shaped_mean" not in plain.records("step_metrics")[0].values
    assert {describe(key).title for key in values if "first" in key} == {
        "Held-out reward first/mean",
        "Held-out reward first/part/low",
    }
