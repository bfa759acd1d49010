"""The jobs in which presets show that they learn: all valid, one recipe, the preset's slots; and their reward."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from common import preset_jobs
from common.preset_jobs import group_of, job, note_of, single_turn, updates_of, write_rows

from reinforge.presets import PRESETS
from reinforge.spec import JobSpec


@pytest.fixture(scope="module")
def reward() -> ModuleType:
    spec = importlib.util.spec_from_file_location("addition_reward", preset_jobs.REWARD)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", single_turn())
def test_a_presets_job_is_valid_and_has_its_slots(name: str, tmp_path: Path) -> None:
    spec = JobSpec.model_validate(job(name, tmp_path / "rows.jsonl")).resolved()
    rollout = spec.rollout
    assert rollout.prompts_per_step * rollout.completions_per_prompt == 128
    assert (rollout.max_completion_tokens, rollout.temperature) == (56, 1.0)
    assert (spec.optimizer.learning_rate, spec.limits.steps) == (2e-4, 80)
    chosen = spec.algorithm.model_dump(mode="json")
    for slot, expected in PRESETS[name].slots.items():
        assert contains(chosen[slot], expected), slot


def contains(value: Any, part: Any) -> bool:
    if isinstance(part, dict):
        return all(key in value and contains(value[key], item) for key, item in part.items())
    return bool(value == part)


def test_only_reinforce_updates_once() -> None:
    assert {name for name in single_turn() if updates_of(name) == 1} == {"reinforce", "opo"}
    assert updates_of("grpo") == 4


def test_a_group_size_that_is_part_of_a_preset_stays_and_is_reported() -> None:
    assert group_of("grpo_2") == 2
    assert note_of("grpo_2") == "64 prompts × 2 completions"
    assert (group_of("grpo"), note_of("grpo")) == (8, "")


def test_solutions_are_what_the_reward_calls_right(tmp_path: Path, reward: ModuleType) -> None:
    rows = [json.loads(line) for line in write_rows(tmp_path).read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 512
    for row in rows[:50]:
        graded = reward.grade({"output_text": row["solution"]}, row)
        assert graded["score"] == 1
        assert [value for value, _ in graded["steps"]] == [1, 1, 1]


ITEM = {"a": 47, "b": 85, "answer": "132"}


@pytest.mark.parametrize(
    ("text", "score", "steps", "criteria", "candidates"),
    [
        ("<answer>132</answer>", 1, [(1, 20)], (1, 1, 1), [[1, 1]]),
        ("<answer>122</answer>", 0, [(0, 20)], (1, 1, 0), [[0, 1]]),
        ("132", 0, [(0, 3)], (0, 0, 0), [[0, 0]]),
        (
            "<think>7+5=12,4+8=12</think><answer>132</answer>",
            1, [(1, 13), (0, 20), (1, 48)], (1, 1, 1), [[1, 1]],
        ),
        ("<answer>131</answer><answer>132</answer>", 1, [(1, 40)], (1, 1, 1), [[0, 0], [1, 1]]),
    ],
)  # fmt: skip
def test_the_reward_tells_steps_criteria_and_candidates(
    reward: ModuleType,
    text: str,
    score: float,
    steps: list[tuple[float, int]],
    criteria: tuple[float, float, float],
    candidates: list[list[float]],
) -> None:
    graded = reward.grade({"output_text": text}, ITEM)
    assert graded["score"] == score
    assert graded["steps"] == steps
    assert graded["criteria"] == dict(zip(("tagged", "ones", "right"), criteria, strict=True))
    assert graded["candidates"] == candidates
    assert reward.ones({"output_text": text}, ITEM) == criteria[1]
