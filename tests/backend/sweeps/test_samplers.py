"""Settings that TPE chooses by the results so far, and what samplers share."""

import json
import math
import subprocess
import sys
from typing import Any

import pytest

from backend.sweeps.planner import TrialRecord, plan
from backend.sweeps.samplers import outcome, sampled_parameter
from backend.sweeps.settings import next_setting
from backend.sweeps.tpe import TpeSettingSampler
from reinforge.sweeps import ParameterRange, SweepSpec

RATE, PRESET, RANK = "optimizer.learning_rate", "algorithm.preset", "adapter.rank"
PARAMETERS: dict[str, Any] = {
    RATE: {"min": 1e-5, "max": 1e-1, "log": True},
    PRESET: ["grpo", "dapo", "gspo"],
    RANK: [4, 8, 16, 32, 64],
}


def spec(**fields: Any) -> SweepSpec:
    base: dict[str, Any] = {"job": {}, "method": "tpe", "trials": 30, "parameters": PARAMETERS}
    return SweepSpec.model_validate(base | fields)


def reward(parameters: dict[str, Any]) -> float:
    """Best at 5e-4 with DAPO."""
    distance = math.log10(parameters[RATE]) + 3.3
    return 1 - 0.1 * distance**2 - 0.2 * (parameters[PRESET] != "dapo")


def trial(number: int, parameters: dict[str, Any], status: str, *rewards: float) -> TrialRecord:
    return TrialRecord(
        number, number, "", parameters, status, rewards=rewards, steps=range(1, len(rewards) + 1)
    )


def swept(sweep: SweepSpec, until: int | None = None) -> list[TrialRecord]:
    """All jobs of a sweep, as many at a time as may run."""
    records: list[TrialRecord] = []
    while new := plan(sweep, "running", records, next_setting(sweep, records)).new:
        for variation in new[: None if until is None else until - len(records)]:
            records.append(
                trial(variation.number, variation.parameters, "succeeded", reward(variation.parameters))
            )
        if len(records) == until:
            break
    return records


def test_later_settings_are_better_and_within_their_ranges() -> None:
    records = swept(spec())
    rewards = [record.rewards[0] or 0.0 for record in records]
    assert sum(rewards[20:]) / 10 > sum(rewards[:10]) / 10 + 0.1
    assert max(rewards) > 0.97
    for record in records:
        assert 1e-5 <= record.parameters[RATE] <= 1e-1
        assert record.parameters[RANK] in PARAMETERS[RANK] and isinstance(record.parameters[RANK], int)


def test_equal_results_give_equal_settings_in_a_study_that_is_rebuilt() -> None:
    records = swept(spec(), until=14)
    stored = [
        TrialRecord(**{**record.__dict__, "parameters": json.loads(json.dumps(record.parameters))})
        for record in records
    ]
    first, again = TpeSettingSampler(spec(), records), TpeSettingSampler(spec(), stored)
    settings = [first.next_setting(number) for number in (14, 15, 16)]
    assert settings == [again.next_setting(number) for number in (14, 15, 16)]
    assert len({json.dumps(parameters) for _, parameters in settings}) == 3
    assert TpeSettingSampler(spec(seed=1), records).next_setting(14) != settings[0]


def test_jobs_that_run_are_reckoned_with() -> None:
    records = swept(spec(), until=12)
    name, parameters = TpeSettingSampler(spec(), records).next_setting(12)
    near = parameters | {
        RATE: parameters[RATE] * 1.01
    }  # the same combination would be avoided as a repetition
    running = [*records, *(trial(number, near, "running") for number in range(12, 20))]
    assert TpeSettingSampler(spec(), running).next_setting(12) != (name, parameters)


def test_the_first_settings_are_those_of_method_random() -> None:
    sweep, random = spec(trials=9), spec(trials=9, method="random")
    for measured in (0, 1, 2):
        records = swept(sweep, until=measured)
        assert next_setting(sweep, records)(measured) == next_setting(random, records)(measured)
    records = swept(sweep, until=4)
    assert next_setting(sweep, records)(4) != next_setting(random, records)(4), "it has learned"


def test_a_setting_that_failed_is_worse_than_all_others_and_one_that_halving_ended_worse_than_completed() -> (
    None
):
    halved = outcome(spec(), [trial(0, {}, "cancelled", 0.2, 0.4)])
    assert (halved.is_measured, halved.is_complete, halved.reward, halved.evaluations) == (
        True,
        False,
        0.4,
        2,
    )
    failed = outcome(spec(), [trial(0, {}, "failed")])
    assert (failed.is_measured, failed.is_failed, failed.reward) == (True, True, None)
    assert outcome(spec(), [trial(0, {}, "deleted")]).is_ignored
    assert outcome(spec(), [trial(0, {}, "succeeded", 0.1), trial(1, {}, "succeeded", 0.3)]).reward == (
        pytest.approx(0.2)
    )
    assert outcome(spec(), [trial(0, {}, "succeeded", 0.1), trial(1, {}, "queued")]).is_open
    sweep = spec(trials=9, parameters={"data.dataset": ["good", "bad"], RATE: PARAMETERS[RATE]})
    records = [
        trial(number, {"data.dataset": dataset, RATE: 10.0 ** -(1 + number / 2)}, status, *rewards)
        for number, (dataset, status, *rewards) in enumerate(
            [("bad", "failed"), ("bad", "refused"), ("good", "succeeded", 0.1), ("bad", "failed"),
             ("good", "cancelled", 0.1), ("bad", "failed")], 1,
        )
    ]  # fmt: skip
    settings = [
        TpeSettingSampler(sweep.model_copy(update={"seed": seed}), records).next_setting(6)
        for seed in range(10)
    ]
    assert sum(parameters["data.dataset"] == "good" for _, parameters in settings) >= 8


def test_no_combination_is_tried_twice() -> None:
    parameters = {RANK: [1, 2, 4], PRESET: ["grpo", "dapo"], "seed": {"min": 1, "max": 2, "integer": True}}
    sweep = spec(parameters=parameters, trials=12, parallel=3)
    records: list[TrialRecord] = []
    while new := plan(sweep, "running", records, next_setting(sweep, records)).new:
        records += [
            trial(one.number, one.parameters, "succeeded", float(one.parameters[RANK])) for one in new
        ]
    assert len({json.dumps(record.parameters, sort_keys=True) for record in records}) == 12


@pytest.mark.parametrize(
    "scale",
    [
        {"min": 1, "max": 2**60, "integer": True, "log": True},
        {"min": -5, "max": 2**53, "integer": True},
        {"min": 1e-300, "max": 1e300, "log": True},
        {"min": 0.1234567891, "max": 0.1234567892},
    ],
)
def test_values_of_extreme_ranges_stay_within_them(scale: dict[str, Any]) -> None:
    sweep = spec(trials=9, parameters={"x": scale})
    search = TpeSettingSampler(sweep, [])
    records = [trial(n, search.next_setting(n)[1], "succeeded", float(n)) for n in range(5)]
    search = TpeSettingSampler(sweep, records)
    for number in range(5, 9):
        assert scale["min"] <= search.next_setting(number)[1]["x"] <= scale["max"]


def test_values_are_encoded_by_their_kind() -> None:
    lists = sampled_parameter([[1], {"a": True}, None])
    assert [lists.decode(lists.encode(value)) for value in ([1], {"a": True}, None)] == [
        [1],
        {"a": True},
        None,
    ]
    flags = sampled_parameter([True, 1])
    assert flags.decode(flags.encode(True)) is True and flags.decode(flags.encode(1)) == 1
    whole = sampled_parameter(ParameterRange(min=1, max=9, integer=True))
    assert whole.decode(whole.encode(3)) == 3 and isinstance(whole.decode(3), int)


def test_server_processes_start_without_optuna() -> None:
    program = "import sys, backend.main, backend.background; print({'optuna', 'cmaes'} & {*sys.modules})"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"
