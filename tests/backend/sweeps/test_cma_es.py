"""Settings that CMA-ES chooses, without state beside the trials."""

import json
import pickle
import random
from dataclasses import replace
from statistics import median
from typing import Any

import pytest

from backend.sweeps.cma_es import CmaEsSettingSampler, population
from backend.sweeps.planner import TrialRecord, plan
from backend.sweeps.settings import next_setting
from reinforge.sweeps import SweepSpec

TRIALS, PARALLEL = 20, 3
STEPS = 2**20
WHOLE = {"min": 0, "max": STEPS, "integer": True}


def spec(**fields: Any) -> SweepSpec:
    base: dict[str, Any] = {
        "job": {}, "method": "cma_es", "trials": TRIALS, "parallel": PARALLEL, "parameters": {"x": WHOLE, "y": WHOLE},
    }  # fmt: skip
    return SweepSpec.model_validate(base | fields)


def reward(parameters: dict[str, Any]) -> float:
    x, y = parameters["x"] / STEPS, parameters["y"] / STEPS
    return -((x - 0.7) ** 2) - (y - 0.35) ** 2 - (x - 0.7) * (y - 0.35)


def ended(record: TrialRecord) -> TrialRecord:
    return replace(record, status="succeeded", rewards=[reward(record.parameters)], steps=[1])


def stored(records: list[TrialRecord]) -> list[TrialRecord]:
    return [replace(record, parameters=json.loads(json.dumps(record.parameters))) for record in records]


def swept(sweep: SweepSpec, *, one_at_a_time: bool = False) -> list[TrialRecord]:
    """All trials; whenever places are filled, one of the running jobs ends, not the oldest first."""
    records: list[TrialRecord] = []
    arrival = random.Random(1)
    while True:
        if one_at_a_time:
            records = stored(records)
        new = plan(sweep, "running", records, next_setting(sweep, records)).new
        for variation in new[:1] if one_at_a_time else new:
            records.append(
                TrialRecord(variation.number, variation.setting, "", variation.parameters, "running")
            )
        running = [record for record in records if record.is_open]
        if one_at_a_time and len(running) < PARALLEL and len(records) < TRIALS:
            continue
        if not running:
            return records
        for record in arrival.sample(running, min(len(running), arrival.choice((1, 1, 2)))):
            records[record.number] = ended(record)


def test_a_sampler_that_is_rebuilt_before_every_choice_gives_the_same_settings() -> None:
    records = swept(spec())
    assert [record.parameters for record in records] == [
        record.parameters for record in swept(spec(), one_at_a_time=True)
    ]
    assert len({json.dumps(record.parameters) for record in records}) == TRIALS
    assert swept(spec(seed=1))[5].parameters != records[5].parameters


def test_the_optimizer_is_the_one_of_a_study_that_optuna_has_run_itself() -> None:
    import optuna

    sampler = optuna.samplers.CmaEsSampler(seed=4)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    distribution = optuna.distributions.IntDistribution(0, STEPS)
    records: list[TrialRecord] = []
    for number in range(TRIALS):
        trial = study.ask(fixed_distributions={"x": distribution, "y": distribution})
        study.tell(trial, reward(trial.params))
        records.append(ended(TrialRecord(number, number, "", dict(trial.params), "running")))
    rebuilt = CmaEsSettingSampler(spec(), records)._attributes
    live = [trial.system_attrs for trial in study.trials if "cma:optimizer:0" in trial.system_attrs][-1]
    assert rebuilt["cma:generation"] == live["cma:generation"] == (TRIALS - 1) // population(spec())
    assert samples(rebuilt) == samples(live)


def samples(attributes: dict[str, Any]) -> list[list[float]]:
    """What the optimizer draws, which depends on its mean, width and covariance."""
    parts = [value for key, value in attributes.items() if key.startswith("cma:optimizer:")]
    optimizer = pickle.loads(bytes.fromhex("".join(parts)))
    optimizer.reseed_rng(7)
    return [list(map(float, optimizer.ask())) for _ in range(5)]


def test_the_order_in_which_results_arrive_does_not_count() -> None:
    records = swept(spec())
    backwards = CmaEsSettingSampler(spec(), records[::-1])
    assert backwards.next_setting(TRIALS) == CmaEsSettingSampler(spec(), records).next_setting(TRIALS)


def test_it_comes_closer_to_the_optimum_of_a_smooth_function_than_random_search() -> None:
    def loss(method: str, seed: int) -> float:
        records = swept(spec(method=method, seed=seed))
        return -max(reward(record.parameters) for record in records)

    chosen, drawn = (median(loss(method, seed) for seed in range(5)) for method in ("cma_es", "random"))
    assert chosen < drawn / 2


def test_a_halved_setting_counts_below_completed_ones_and_a_failed_one_below_all() -> None:
    records = swept(spec())[:7]

    def settings(status: str, *rewards: float) -> tuple[str, dict[str, Any]]:
        last = replace(records[6], status=status, rewards=rewards, steps=range(len(rewards)))
        return CmaEsSettingSampler(spec(), [*records[:6], last]).next_setting(7)

    worst = settings("succeeded", -100.0)
    assert settings("cancelled", 100.0, 100.0) == settings("failed") == settings("refused") == worst
    assert settings("succeeded", 100.0) != worst
    assert settings("running") == settings("deleted") != worst, "no result: the generation is not complete"


def test_seeds_of_a_setting_count_as_one_result() -> None:
    sweep = spec(seeds=2)
    single = swept(spec())
    double = [
        replace(record, number=2 * record.number + half, rewards=[(record.rewards[0] or 0) + shift])
        for record in single
        for half, shift in enumerate((-0.5, 0.5))
    ]
    expected = CmaEsSettingSampler(spec(), single).next_setting(TRIALS)
    assert CmaEsSettingSampler(sweep, double).next_setting(TRIALS) == expected


@pytest.mark.parametrize(
    "parameters",
    [
        {"x": {"min": 1, "max": 2**60, "integer": True, "log": True}, "y": {"min": 0.1234567891, "max": 0.1234567892}},
        {"x": {"min": 1e-300, "max": 1e300, "log": True}, "y": [4, 0.5, 8, 16]},
        {"x": [1, 2, 3], "y": {"min": 1, "max": 4, "integer": True}},
    ],
)  # fmt: skip
def test_values_are_in_their_ranges_and_lists_and_no_combination_is_repeated(
    parameters: dict[str, Any],
) -> None:
    sweep = spec(parameters=parameters, trials=12)
    records: list[TrialRecord] = []
    for number in range(12):
        values = CmaEsSettingSampler(sweep, records).next_setting(number)[1]
        for path, scale in parameters.items():
            inside = values[path] in scale if isinstance(scale, list) else (
                scale["min"] <= values[path] <= scale["max"]
            )  # fmt: skip
            assert inside
        records.append(
            TrialRecord(number, number, "", values, "succeeded", rewards=[values["x"] % 7], steps=[1])
        )
    assert len({json.dumps(record.parameters) for record in records}) == 12
