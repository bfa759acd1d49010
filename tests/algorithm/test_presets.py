"""Presets are ways to fill slots: each one is a job that runs, or one that a single turn refuses in words."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from reinforge.algorithm.slots import Algorithm
from reinforge.presets import PRESETS, apply_preset, with_recipe
from reinforge.spec import JobSpec

WORKER = Path(__file__).parents[2] / "worker"
AGENTS = {name for name, preset in PRESETS.items() if any("environment" in need for need in preset.needs)}


def job(name: str, **algorithm: Any) -> dict[str, Any]:
    return {
        "model": "starter-arith",
        "data": {"dataset": "rows.jsonl"},
        "rewards": [{"source": "def grade(): ..."}],
        "algorithm": {"preset": name, **algorithm},
    }


@pytest.mark.parametrize("name", sorted(PRESETS.keys() - AGENTS))
def test_a_preset_alone_is_a_job_and_its_slots_work_without_it(name: str) -> None:
    spec = JobSpec.model_validate(job(name))
    assert spec.algorithm == Algorithm.model_validate({"preset": name, **PRESETS[name].slots})
    resolved = spec.resolved().model_dump()
    assert JobSpec.model_validate(resolved).model_dump() == resolved
    unnamed = resolved | {"algorithm": resolved["algorithm"] | {"preset": None}}
    assert JobSpec.model_validate(unnamed).algorithm.model_dump() == unnamed["algorithm"]


@pytest.mark.parametrize("name", sorted(PRESETS.keys() - AGENTS))
def test_a_preset_goes_with_its_published_numbers(name: str) -> None:
    spec = JobSpec.model_validate(with_recipe(job(name))).model_dump(mode="json")
    for part, fields in PRESETS[name].recipe.items():
        for field, value in fields.items():
            value_in_spec = spec[part][field]
            assert value_in_spec == value or (
                isinstance(value, dict) and value.items() <= value_in_spec.items()
            )


@pytest.mark.parametrize("name", sorted(AGENTS))
def test_a_preset_for_agents_is_refused_by_a_single_turn(name: str) -> None:
    with pytest.raises(ValidationError, match="a rollout is one completion"):
        JobSpec.model_validate(job(name))
    Algorithm.model_validate({"preset": name, **PRESETS[name].slots})


def test_the_agents_are_those() -> None:
    assert {"gagpo", "ih_grpo", "axpo"} == AGENTS


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_a_card_says_what_a_person_needs_to_choose(name: str) -> None:
    card = PRESETS[name]
    assert 100 < len(card.summary) < 700
    assert card.summary.count(". ") >= 1
    assert card.title
    assert card.formula
    assert card.source
    assert card.confidence == "high" or card.deviations, "what is not certain has to say what was filled in"


def test_no_two_presets_are_the_same() -> None:
    filled = [str((card.slots, card.job, card.recipe)) for card in PRESETS.values()]
    assert len(set(filled)) == len(filled)


def test_fields_beside_a_preset_win_and_the_rest_stays() -> None:
    overrides = {"loss": {"surrogate": {"eps_high": 0.5}}, "shaping": {"soft_overlong": {"cache": 9}}}
    algorithm = JobSpec.model_validate(job("dapo", **overrides)).algorithm.model_dump()
    assert algorithm["loss"]["surrogate"]["eps_high"] == 0.5
    assert algorithm["loss"]["surrogate"]["eps_low"] == 0.2
    assert algorithm["loss"]["aggregation"]["type"] == "token_mean"
    assert algorithm["shaping"]["soft_overlong"] == {"weight": 1.0, "limit": None, "cache": 9}


def test_another_part_takes_the_whole_place() -> None:
    algorithm = JobSpec.model_validate(job("dapo", loss={"surrogate": {"type": "sapo"}})).algorithm
    assert algorithm.loss.surrogate.model_dump() == {"type": "sapo", "tau_pos": 1.0, "tau_neg": 1.05}


def test_two_completions_make_2_grpo_unless_the_rollout_says_otherwise() -> None:
    assert JobSpec.model_validate(job("grpo_2")).rollout.completions_per_prompt == 2
    spec = job("grpo_2") | {"rollout": {"completions_per_prompt": 4}}
    assert JobSpec.model_validate(spec).rollout.completions_per_prompt == 4


def test_filling_leaves_the_presets_as_they_are() -> None:
    before = str(PRESETS["dapo"])
    filled = apply_preset(job("dapo"))
    filled["algorithm"]["loss"]["surrogate"]["eps_high"] = 9
    apply_preset(job("dapo", loss={"surrogate": {"eps_high": 1.0}}))
    assert str(PRESETS["dapo"]) == before


def test_the_worker_knows_no_preset() -> None:
    files = sorted(WORKER.rglob("*.py"))
    assert files
    assert [str(path) for path in files if "preset" in path.read_text(encoding="utf-8").lower()] == []
