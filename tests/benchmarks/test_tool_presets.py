"""The benchmark of presets for jobs with tools: its jobs are valid, and its rule marks what differs."""

from typing import Any

import pytest
from claims.tool_presets import EXAMPLES, compare
from tool_presets import by_prompt, spec_of


def runs(preset: str, tuned: list[float], seeds: tuple[int, ...] = (0, 1, 2)) -> list[dict[str, Any]]:
    rewards = {str(place): value for place, value in enumerate(tuned)}
    base = dict.fromkeys(rewards, 0.2)
    return [
        {"example": "lookup", "preset": preset, "seed": seed, "base": base, "tuned": rewards}
        for seed in seeds
    ]


@pytest.mark.parametrize("example", EXAMPLES)
def test_only_preset_and_seed_differ_between_jobs(example: str) -> None:
    one, other = spec_of(example, "grpo", 0), spec_of(example, "gagpo", 1)
    assert one.model_dump(exclude={"algorithm", "seed"}) == other.model_dump(exclude={"algorithm", "seed"})
    assert (one.algorithm.preset, other.algorithm.preset, other.seed) == ("grpo", "gagpo", 1)


@pytest.mark.parametrize(
    ("change", "mark"), [(0.2, "better"), (-0.2, "worse"), (0.0, "no difference")], ids=str
)
def test_the_rule_marks_a_difference_beyond_its_interval(change: float, mark: str) -> None:
    grpo = [0.4, 0.5, 0.6, 0.5] * 4
    stored = runs("grpo", grpo) + runs("gagpo", [value + change for value in grpo])
    row = compare(stored, "lookup", "gagpo")
    assert row is not None and row[-1] == mark


def test_seeds_that_are_missing_leave_no_mark() -> None:
    stored = runs("grpo", [0.5] * 8) + runs("gagpo", [0.9] * 8, seeds=(0,))
    row = compare(stored, "lookup", "gagpo")
    assert row is not None and row[-2:] == ("", "")
    assert compare(stored, "lookup", "axpo") is None


def test_a_completion_without_a_reward_counts_as_zero() -> None:
    rows = [{"prompt_hash": "a", "reward": 1.0}, {"prompt_hash": "a", "reward": None}]
    assert by_prompt(rows) == {"a": 0.5}
