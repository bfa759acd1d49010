"""The planner alone: which trials are added, ended and skipped, and when a sweep is over."""

from typing import Any

from backend.sweeps.planner import Plan, TrialRecord, plan
from backend.sweeps.settings import next_setting
from reinforge.sweeps import SweepSpec


def spec(**fields: Any) -> SweepSpec:
    base: dict[str, Any] = {"job": {}, "parameters": {"adapter.rank": [1, 2, 3, 4]}, "parallel": 2}
    return SweepSpec.model_validate(base | fields)


def trial(number: int, status: str = "running", *rewards: float | None, **fields: Any) -> TrialRecord:
    steps = [10 * place for place, _ in enumerate(rewards, 1)]
    parameters = {"adapter.rank": number + 1}
    setting = fields.pop("setting", number)
    return TrialRecord(number, setting, "", parameters, status, rewards=rewards, steps=steps, **fields)


def planned(sweep: SweepSpec, *trials: TrialRecord, status: str = "running") -> Plan:
    return plan(sweep, status, trials, next_setting(sweep, trials))


def test_as_many_trials_are_open_as_may_run_at_once() -> None:
    assert [new.parameters for new in planned(spec()).new] == [{"adapter.rank": 1}, {"adapter.rank": 2}]
    assert planned(spec(), trial(0), trial(1, "pending")) == Plan()
    assert [new.number for new in planned(spec(), trial(0, "succeeded"), trial(1, "queued")).new] == [2]
    assert [new.number for new in planned(spec(), trial(0, "paused"), trial(1)).new] == [2]
    assert planned(spec(), *(trial(number, "paused") for number in range(4))) == Plan(), "it waits for them"


def test_all_seeds_of_a_setting_share_its_parameters() -> None:
    sweep = spec(method="random", trials=2, seeds=2, parallel=8)
    settings = [(new.number, new.setting, new.seed) for new in planned(sweep).new]
    assert settings == [(0, 0, 0), (1, 0, 1), (2, 1, 0), (3, 1, 1)]
    stored = TrialRecord(0, 0, "as stored", {"adapter.rank": 77}, "running")
    assert planned(sweep, stored).new[0].parameters == {"adapter.rank": 77}, "as stored, not drawn again"


def test_the_sweep_ends_when_every_trial_has() -> None:
    ended = [trial(0, "succeeded", 0.5), trial(1, "failed"), trial(2, "cancelled"), trial(3, "refused")]
    assert planned(spec(), *ended) == Plan(status="succeeded")
    assert planned(spec(), *(trial(number, "failed") for number in range(4))).status == "failed"


def test_three_failures_without_any_evaluation_end_it() -> None:
    failed = [trial(0, "failed"), trial(1, "refused"), trial(2, "failed")]
    assert planned(spec(), *failed) == Plan(status="failed", reason="first_trials_failed")
    assert planned(spec(), *failed[:2], trial(2)).new[0].number == 3
    assert planned(spec(), *failed, trial(3, "pending")).skip == [3]
    assert planned(spec(), trial(0, "failed", 0.1), *failed[1:]).new[0].number == 3, "one has trained"


def test_a_budget_of_jobs_adds_no_more_and_lets_those_that_run_end() -> None:
    sweep = spec(budget={"jobs": 2})
    assert planned(sweep, trial(0, "succeeded"), trial(1)) == Plan()
    both = planned(sweep, trial(0, "succeeded"), trial(1, "succeeded"))
    assert both == Plan(status="succeeded", reason="budget_jobs")


def test_a_budget_of_seconds_or_money_ends_what_runs() -> None:
    trials = [trial(0, "succeeded", seconds=60.0, cost=2.0), trial(1, seconds=39.0, cost=1.0)]
    assert planned(spec(budget={"seconds": 100}), *trials).new[0].number == 2
    assert planned(spec(budget={"seconds": 99}), *trials) == Plan(end={1: "budget"})
    assert planned(spec(budget={"money": 3}), *trials, trial(2, "pending")) == Plan(
        end={1: "budget"}, skip=[2]
    )
    over = [trials[0], trial(1, "cancelled", seconds=39.0, ended_by="budget"), trial(2, "skipped")]
    assert planned(spec(budget={"seconds": 99}), *over) == Plan(status="succeeded", reason="budget_seconds")


def test_cancelling_ends_each_job_once() -> None:
    assert planned(spec(), trial(0), trial(1, "pending"), status="cancelling") == Plan(
        end={0: "sweep_cancelled"}, skip=[1]
    )
    waiting = [trial(0, "cancelling", ended_by="sweep_cancelled"), trial(1, "skipped")]
    assert planned(spec(), *waiting, status="cancelling") == Plan()
    ended = [trial(0, "cancelled", ended_by="sweep_cancelled"), trial(1, "skipped")]
    assert planned(spec(), *ended, status="cancelling") == Plan(status="cancelled")


def test_halving_ends_jobs_below_the_best_of_equally_many_evaluations() -> None:
    sweep = spec(halving={}, parallel=4)
    one_evaluation = [trial(0, "running", 0.9), trial(1, "running", 0.1)]
    assert planned(sweep, *one_evaluation).end == {}, "never before two"
    two = [trial(0, "running", 0.1, 0.9), trial(1, "running", 0.9, 0.1)]
    assert planned(sweep, *two).end == {1: "halving"}, "the newest of the two counts"
    assert planned(spec(halving={}, objective="best"), *two).end == {}, "their best are equal"
    assert planned(sweep, two[0], trial(1, "running", 0.1)).end == {}, "none to compare with"


def test_halving_compares_again_after_twice_as_many_evaluations() -> None:
    sweep = spec(halving={}, parallel=4)
    leading = trial(0, "succeeded", 0.5, 0.5, 0.5, 0.5)
    catching_up = [0.6, 0.7, 0.4]
    assert planned(sweep, leading, trial(1, "running", *catching_up)).end == {}, "ahead after two"
    assert planned(sweep, leading, trial(1, "running", *catching_up, 0.4)).end == {1: "halving"}


def test_halving_by_a_factor_of_three_waits_for_three() -> None:
    sweep = spec(halving={"factor": 3}, parallel=4)
    rewards = [(0.5, 0.1), (0.5, 0.2), (0.5, 0.3), (0.5, 0.4)]
    trials = [trial(number, "running", *row) for number, row in enumerate(rewards)]
    assert planned(sweep, *trials[:2]).end == {}
    assert planned(sweep, *trials[:3]).end == {0: "halving", 1: "halving"}
    assert planned(sweep, *trials).end == {0: "halving", 1: "halving"}, "the best third, rounded up"


def test_halving_spares_ties_and_counts_a_lost_evaluation_as_worst() -> None:
    sweep = spec(halving={}, parallel=4)
    assert planned(sweep, trial(0, "running", 0.5, 0.5), trial(1, "running", 0.5, 0.5)).end == {}
    lost = [trial(0, "running", None, None), trial(1, "running", 0.0, 0.0)]
    assert planned(sweep, *lost).end == {0: "halving"}
