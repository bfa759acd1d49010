"""Metrics that findings are made from, on tensors with numbers computed by hand."""

from pathlib import Path

import pytest
import torch

from reinforge.diagnosis.job_input import READ_KEYS
from tests.support.small_jobs import SmallJob, small_spec
from tests.support.tiny_models import write_tiny_model
from worker.sandbox.outcome import RewardRow, RowResult
from worker.training.reporting.diagnostics import _repeated_share, _sampler, quantiles, within_groups


def test_the_correlation_is_within_groups_and_skips_what_was_not_measured() -> None:
    rewards = torch.tensor([0.0, 1.0, 10.0, 11.0, torch.nan])
    group = torch.tensor([4, 4, 7, 7, 7])
    assert within_groups(rewards, torch.tensor([5.0, 6.0, 2.0, 3.0, 99.0]), group) == pytest.approx(1)
    assert within_groups(rewards, torch.tensor([5.0, 6.0, 3.0, 2.0, 99.0]), group) == pytest.approx(0)
    assert within_groups(rewards, torch.tensor([1.0, 1.0, 2.0, 2.0, 3.0]), group) is None
    assert within_groups(rewards * torch.nan, rewards, group) is None


def test_repetition_is_the_share_of_earlier_ngrams() -> None:
    assert _repeated_share([1, 2, 3, 4, 5]) == 0
    assert _repeated_share([1, 2, 1, 2, 1, 2]) == pytest.approx(0.5)
    assert _repeated_share([1, 2]) == 0


def test_the_effective_share_falls_with_the_gap() -> None:
    mask = torch.ones(1, 2, dtype=torch.bool)
    assert _sampler(torch.zeros(1, 2), mask) == {"sampler/effective_share": 1.0, "sampler/kl": 0.0}
    apart = _sampler(torch.log(torch.tensor([[1.0, 3.0]])), mask)
    assert apart["sampler/effective_share"] == pytest.approx(16 / 20)
    assert _sampler(torch.zeros(1, 2), ~mask)["sampler/effective_share"] is None


def test_quantiles_of_many_values_are_estimated() -> None:
    low, high = quantiles(torch.linspace(0, 1, 2_500_000), (0.1, 0.9))
    assert (low, high) == (pytest.approx(0.1, abs=1e-5), pytest.approx(0.9, abs=1e-5))


STEP_SERIES = frozenset(
    {
        "reward/mean", "reward/std", "reward/error_share", "reward/low/mean", "reward/low/part/first",
        "reward/low/advantage_correlation", "reward/low/std",
        "reward/low/group_std", "reward/low/error_share",
        "groups/zero_variance_share", "groups/all_right_share",
        "groups/all_wrong_share", "entropy/mean", "entropy/p10", "entropy/p90", "policy/clip_low_share",
        "policy/clip_high_share", "policy/old_kl", "policy/log_ratio_max", "kl/mean", "sampler/gap_mean",
        "sampler/kl", "sampler/effective_share", "completions/length_mean", "completions/length_p95",
        "completions/length_right_mean", "completions/length_wrong_mean", "completions/truncated_share",
        "completions/duplicate_share", "completions/off_language_share", "groups/length_variation",
        "optimizer/grad_norm",
        "advantage/zero_share", "advantage/abs_mean",
    }
)  # fmt: skip
"""What a diagnosis needs of every step, whichever the algorithm."""
OF_SOME_JOBS = frozenset(
    {
        "entropy/coefficient", "advantage/lone_side_share", "advantage/visits_per_state",
        "tools/calls_per_rollout", "tools/invalid_share", "tools/failure_share",
    }
)  # fmt: skip
"""Read by detectors, and reported by jobs with such an algorithm or with tools alone."""


def _in_two_parts(row: RewardRow) -> RowResult:
    first = float(row.completion[:1] < "n")
    return RowResult("ok", first + len(row.completion) / 100, {"first": first})


def test_a_job_with_two_rewards_and_a_declared_answer_reports_its_witnesses(
    tmp_path: Path,
) -> None:
    rewards = [
        {"type": "python", "name": name, "source": "def grade(sample, item): ...", "weight": weight}
        for name, weight in (("low", 1.0), ("witness", 0.0))
    ]
    spec = small_spec(
        rewards=rewards,
        data__columns={"answer": "total", "slice": "size"},
        limits__steps=1,
        evaluation__every_steps=1,
        algorithm__updates_per_step=3,
        algorithm__loss__kl={"beta": 0.01},
    )
    rows = [{"prompt": f"row {number}", "total": str(number), "size": "all"} for number in range(12)]
    job = SmallJob(
        tmp_path / "job", write_tiny_model(tmp_path / "model"), spec, rows=rows, grade=_in_two_parts
    )
    job.train()
    reported = {key for line in job.metrics() for key in line["values"]}
    assert STEP_SERIES | (READ_KEYS - OF_SOME_JOBS) | {"held_out/slice/all/reward_mean"} <= reported
    values = job.records("step_metrics")[0].values
    assert values["reward/witness/advantage_correlation"] == pytest.approx(
        values["reward/low/advantage_correlation"]
    )
    assert values["reward/low/others_correlation"] is None, "the other one has weight 0"
    assert values["reward/witness/others_correlation"] == pytest.approx(1)
    assert values["completions/answer_share"] == 0
    assert (values["policy/old_kl"] or 0) > 0
    assert (values["policy/log_ratio_max"] or 0) > 0
