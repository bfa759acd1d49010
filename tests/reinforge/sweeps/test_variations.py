"""Settings of sweeps and the jobs with them."""

from typing import Any

import pytest
from pydantic import ValidationError

from reinforge.errors import InvalidInput
from reinforge.spec import JobSpec
from reinforge.sweeps import SweepSpec, check, job_of, trials

JOB: dict[str, Any] = {
    "model": "starter-arith",
    "data": {"dataset": "file-1", "held_out": "file-2"},
    "rewards": [{"type": "python", "name": "correct", "source": "def grade(sample, item): return 1"}],
}


def sweep(**fields: Any) -> SweepSpec:
    return SweepSpec.model_validate({"job": JOB} | fields)


def jobs(spec: SweepSpec) -> list[dict[str, Any]]:
    return [job_of(spec, variation, "x") for variation in trials(spec)]


def test_a_grid_has_every_combination_with_every_seed() -> None:
    rates = {"min": 1e-4, "max": 1e-2, "log": True, "points": 3}
    spec = sweep(parameters={"algorithm.preset": ["dapo", "gspo"], "optimizer.learning_rate": rates}, seeds=2)
    made = [
        (job["algorithm"]["preset"], job["optimizer"]["learning_rate"], job["seed"]) for job in jobs(spec)
    ]
    assert made == [
        (preset, rate, seed) for preset in ("dapo", "gspo") for rate in (1e-4, 1e-3, 1e-2) for seed in (0, 1)
    ]
    assert [variation.setting for variation in trials(spec)] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert jobs(spec)[3]["name"] == "x: dapo, learning_rate 0.001, seed 1"
    assert "algorithm" not in JOB, "the shared job is not changed"


def test_a_ladder_adds_one_setting_at_a_time() -> None:
    spec = sweep(
        method="ladder",
        rungs=[
            {"name": "clip higher", "set": {"algorithm.loss.surrogate.eps_high": 0.28}},
            {"set": {"algorithm.selection.type": "dynamic_sampling"}},
        ],
    )
    first, second, third = [JobSpec.model_validate(job).algorithm for job in jobs(spec)]
    assert [variation.name for variation in trials(spec)] == [
        "as it is", "+ clip higher", "+ type dynamic_sampling",
    ]  # fmt: skip
    plain, clipped = (algorithm.loss.surrogate.model_dump() for algorithm in (first, second))
    assert clipped == plain | {"eps_high": 0.28}, "other values of the part stay"
    assert third.loss == second.loss
    assert (second.selection.type, third.selection.type) == ("keep_all", "dynamic_sampling")


def test_random_settings_are_the_same_each_time_and_within_their_ranges() -> None:
    fields: dict[str, Any] = {
        "method": "random",
        "trials": 30,
        "parameters": {
            "optimizer.learning_rate": {"min": 1e-5, "max": 1e-2, "log": True},
            "adapter.rank": {"min": 4, "max": 8, "integer": True},
            "algorithm.preset": ["grpo", "dapo"],
        },
    }
    settings = [variation.parameters for variation in trials(sweep(**fields))]
    assert settings == [variation.parameters for variation in trials(sweep(**fields))]
    assert settings != [variation.parameters for variation in trials(sweep(**fields, seed=1))]
    rates = [setting["optimizer.learning_rate"] for setting in settings]
    assert 1e-5 <= min(rates) < 1e-4 and 1e-3 < max(rates) <= 1e-2, "all orders of magnitude"
    assert {setting["adapter.rank"] for setting in settings} == {4, 5, 6, 7, 8}
    check(sweep(**fields))


def test_a_list_item_is_named_or_numbered() -> None:
    for path in ("rewards.correct.weight", "rewards[0].weight", "rewards.0.weight"):
        made = jobs(sweep(parameters={path: [0.5, 2]}))
        assert [job["rewards"][0]["weight"] for job in made] == [0.5, 2]


@pytest.mark.parametrize(
    ("parameters", "param"),
    [
        ({"optimizer.learning_rat": [1]}, "parameters.optimizer.learning_rat"),
        ({"optimizer.learning_rate": [0.1, 5]}, "parameters.optimizer.learning_rate"),
        ({"algorithm.preset": ["nope"]}, "parameters.algorithm.preset"),
        ({"rewards.wrong.weight": [1]}, "parameters.rewards.wrong.weight"),
        ({"seed": [1], "limits.steps": [0]}, "parameters.limits.steps"),
        (
            {"rollout.prompts_per_step": [1, 4], "algorithm.updates_per_step": [1, 4]},
            "parameters.algorithm.updates_per_step",
        ),
    ],
)
def test_an_error_names_the_parameter(parameters: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        check(sweep(parameters=parameters))
    assert raised.value.param == param


def test_an_error_of_the_shared_job_or_of_a_rung_names_its_place() -> None:
    with pytest.raises(InvalidInput) as raised:
        check(sweep(job=JOB | {"limits": {"steps": 0}}, seeds=2))
    assert raised.value.param == "job.limits.steps"
    rungs = [{"set": {"limits.steps": 5}}, {"set": {"adapter.rank": 0}}]
    with pytest.raises(InvalidInput) as raised:
        check(sweep(method="ladder", rungs=rungs))
    assert raised.value.param == "rungs[1].set.adapter.rank"


def test_halving_needs_two_evaluations_before_the_end() -> None:
    fields: dict[str, Any] = {"parameters": {"adapter.rank": [2, 4]}, "halving": {}}
    check(sweep(job=JOB | {"limits": {"steps": 21}, "evaluation": {"every_steps": 10}}, **fields))
    with pytest.raises(InvalidInput) as raised:
        check(sweep(job=JOB | {"limits": {"steps": 20}, "evaluation": {"every_steps": 10}}, **fields))
    assert (raised.value.code, raised.value.param) == ("too_few_evaluations", "halving")
    with pytest.raises(ValidationError):
        sweep(**fields | {"halving": {"first": 1}})


def test_a_sweep_has_at_most_1000_jobs() -> None:
    with pytest.raises(InvalidInput) as raised:
        check(sweep(parameters={"seed": list(range(50)), "adapter.rank": list(range(1, 22))}))
    assert raised.value.code == "too_many_trials"


def test_a_search_without_repeats_needs_enough_combinations() -> None:
    fields: dict[str, Any] = {"method": "tpe", "parameters": {"adapter.rank": [2, 4, 4], "seed": [1, 2]}}
    check(sweep(**fields, trials=4))
    with pytest.raises(InvalidInput) as raised:
        check(sweep(**fields, trials=5))
    assert (raised.value.code, raised.value.param) == ("too_few_combinations", "trials")
    rates = {"optimizer.learning_rate": {"min": 1e-5, "max": 1e-2}}
    check(sweep(method="tpe", parameters=rates, trials=5))
    with pytest.raises(InvalidInput) as raised:
        check(sweep(method="tpe", parameters={"optimizer.learning_rate": {"min": -1, "max": 1}}, trials=5))
    assert raised.value.param == "parameters.optimizer.learning_rate", "an end of the range"


@pytest.mark.parametrize(
    ("rate", "code", "param"),
    [
        (["auto", 1e-3], "not_numbers", "parameters.optimizer.learning_rate"),
        ([True, 2], "not_numbers", "parameters.optimizer.learning_rate"),
        ([1e-3, 1e-3], "not_numbers", "parameters.optimizer.learning_rate"),
        (None, "too_few_parameters", "parameters"),
    ],
)
def test_cma_es_varies_two_or_more_numbers(rate: list[Any] | None, code: str, param: str) -> None:
    rank = {"adapter.rank": {"min": 1, "max": 64, "integer": True}}
    check(sweep(method="cma_es", trials=5, parameters=rank | {"optimizer.learning_rate": [1e-3, 1e-4]}))
    parameters = rank if rate is None else rank | {"optimizer.learning_rate": rate}
    with pytest.raises(InvalidInput) as raised:
        check(sweep(method="cma_es", trials=5, parameters=parameters))
    assert (raised.value.code, raised.value.param) == (code, param)
    assert "`tpe`" in (raised.value.hint or "")


@pytest.mark.parametrize(
    "fields",
    [
        {"method": "ladder"},
        {"method": "tpe", "parameters": {"adapter.rank": [1, 2]}},
        {"method": "tpe", "parameters": {"adapter.rank": {"min": 0, "max": 2, "log": True}}, "trials": 2},
        {"method": "tpe", "trials": 3},
        {"method": "cma_es", "parameters": {"adapter.rank": [1, 2], "seed": [1, 2]}},
        {"method": "random", "parameters": {"adapter.rank": [1]}},
        {"method": "random", "trials": 3},
        {"parameters": {"adapter.rank": {"min": 1, "max": 2}}},
        {"parameters": {"adapter.rank": {"min": 2, "max": 1, "points": 3}}},
        {"parameters": {"adapter.rank": [1]}, "trials": 3},
        {"parameters": {"seed": [1]}, "seeds": 2},
        {"seeds": [1, 1]},
        {"seeds": [1, -1]},
        {},
    ],
)
def test_fields_that_do_not_fit_together_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        sweep(**fields)
