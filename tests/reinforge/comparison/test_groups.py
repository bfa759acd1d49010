"""Groups of jobs, and intervals between groups over prompts and jobs."""

import random
from statistics import fmean, stdev

import pytest

from reinforge.comparison.between_groups import GroupResampler
from reinforge.comparison.groups import SEEDS, job_groups
from reinforge.comparison.held_out import difference

SPECS = [
    {"name": "a", "algorithm": {"preset": "grpo"}, "seed": 1, "data": {"seed": 1}},
    {"name": "b", "algorithm": {"preset": "dapo"}, "seed": 1, "data": {"seed": 1}},
    {"name": "c", "algorithm": {"preset": "grpo"}, "seed": 2, "data": {"seed": 2}},
]


@pytest.mark.parametrize(
    ("by", "groups"),
    [
        ("algorithm.preset", {"preset grpo": [0, 2], "preset dapo": [1]}),
        ("algorithm", {'algorithm {"preset": "grpo"}': [0, 2], 'algorithm {"preset": "dapo"}': [1]}),
        (SEEDS, {"preset grpo": [0, 2], "preset dapo": [1]}),
        ("seed", {"seed 1": [0, 1], "seed 2": [2]}),
    ],
)
def test_jobs_are_grouped_by_a_setting_or_by_all_but_their_seeds(
    by: str, groups: dict[str, list[int]]
) -> None:
    assert {group.label: group.members for group in job_groups(SPECS, by)} == groups


def test_a_setting_that_only_some_have_makes_a_group_of_the_others() -> None:
    specs = [{"early_stop": {"after": 3}}, {}]
    assert [group.label for group in job_groups(specs, "early_stop.after")] == ["after 3", "after not set"]
    with pytest.raises(KeyError):
        job_groups(specs, "early_stop.before")


def test_labels_of_seed_groups_name_as_few_settings_as_needed() -> None:
    """The clip range follows from the preset, and the steps are all equal but for the last."""
    specs = [
        {"loss": {"clip": 0.2}, "algorithm": {"preset": "grpo"}, "steps": 10},
        {"loss": {"clip": 0.3}, "algorithm": {"preset": "dapo"}, "steps": 10},
        {"loss": {"clip": 0.3}, "algorithm": {"preset": "dapo"}, "steps": 20},
    ]
    assert [group.label for group in job_groups(specs[:2], SEEDS)] == ["preset grpo", "preset dapo"]
    assert [group.label for group in job_groups(specs, SEEDS)] == [
        "preset grpo, steps 10",
        "preset dapo, steps 10",
        "preset dapo, steps 20",
    ]


def test_long_values_of_one_beginning_have_different_labels() -> None:
    specs = [{"tag": "x" * 50 + end} for end in "ab"]
    first, second = job_groups(specs, "tag")
    assert first.label != second.label


def test_the_interval_of_two_groups_covers_the_spread_of_their_jobs() -> None:
    """Prompts are equal within a job, so that all variance is between jobs."""
    baseline, other = [0.40, 0.50, 0.60], [0.45, 0.55, 0.65]
    jobs = [{f"p{row}": mean for row in range(30)} for mean in (*baseline, *other)]
    compared = GroupResampler(jobs).difference([0, 1, 2], [3, 4, 5])
    assert compared is not None and compared.paired
    assert compared.interval.value == pytest.approx(0.05)
    error = (stdev(baseline) ** 2 / 3 + stdev(other) ** 2 / 3) ** 0.5
    assert compared.interval.high - compared.interval.value == pytest.approx(1.96 * error, rel=0.15)
    single = GroupResampler(jobs).difference([1], [4])
    assert single is not None and single.interval.low == pytest.approx(0.05)


def test_groups_of_one_job_are_compared_like_two_jobs() -> None:
    generator = random.Random(3)
    first, second = [{f"p{row}": generator.random() for row in range(40)} for _ in range(2)]
    compared, pair = GroupResampler([first, second]).difference([0], [1]), difference(first, second)
    assert compared is not None and pair is not None
    assert compared.interval.value == pytest.approx(pair.interval.value)
    assert compared.interval.low == pytest.approx(pair.interval.low, abs=0.03)
    assert compared.interval.rows == pair.interval.rows == 40


def test_without_common_prompts_the_groups_are_two_samples() -> None:
    first = {f"p{row}": row % 2 for row in range(40)}
    second = {f"q{row}": value for row, value in first.items()}
    compared = GroupResampler([first, first, second]).difference([0, 1], [2])
    assert compared is not None and not compared.paired
    assert compared.interval.low < 0 < compared.interval.high
    assert fmean((compared.interval.low, compared.interval.high)) == pytest.approx(0, abs=0.1)
    assert GroupResampler([first, {}]).difference([0], [1]) is None


def test_jobs_of_a_group_with_other_prompts_count_with_all_of_their_own() -> None:
    """Seeds that hold out other rows share a few of them by chance."""
    own = [{f"{seed} {row}": 0.5 for row in range(30)} | {"shared": 0.0} for seed in range(3)]
    better = [{prompt: value + 0.2 for prompt, value in job.items() if prompt != "shared"} for job in own[:2]]
    compared = GroupResampler([own[2], *(job | {"shared": 1.0} for job in better)]).difference([0], [1, 2])
    assert compared is not None and not compared.paired
    assert compared.interval.value == pytest.approx((30 * 0.7 + 1) / 31 - (30 * 0.5) / 31)
    assert compared.interval.rows == 31
