"""Jobs with a mistake: the stored runs belong to the mistakes as they are written, and are counted by hand."""

import json

import pytest
from common.folder import Series
from common.preset_jobs import single_turn
from diagnosis_zoo import DATA, FITTED_SEEDS, FOLDER, SEEDS, failing_runs, healthy_runs, scored
from zoo import truth
from zoo.failures import CONSTRUCTED, REAL, Onset
from zoo.score import confusion, totals
from zoo.stored import StoredRun, read_all

from reinforge.spec import JobSpec

FILE, TOGETHER = 20_000, 2_500_000


@pytest.fixture(scope="module")
def runs() -> dict[tuple[str, int], StoredRun]:
    return read_all(FOLDER)


def test_stored_runs_are_of_the_jobs_as_they_are_now(runs: dict[tuple[str, int], StoredRun]) -> None:
    seeds = (*FITTED_SEEDS, *SEEDS)
    jobs = {(run.name, run.seed): run for run in failing_runs(seeds)}
    jobs |= {(run.name, run.seed): run for seed in seeds for run in healthy_runs(seed)}
    measured = {key: run for key, run in runs.items() if run.kind in ("failing", "healthy")}
    assert {key: run.digest for key, run in measured.items()} == {key: jobs[key].digest for key in measured}
    assert len({run.name for run in measured.values() if run.kind == "failing"}) >= 20
    for run in measured.values():
        assert JobSpec.model_validate(run.spec).seed == run.seed
        assert run.train.steps == list(range(1, run.step + 1))


def test_the_diagnosis_is_as_good_as_recorded(runs: dict[tuple[str, int], StoredRun]) -> None:
    recorded = json.loads(FOLDER.with_suffix(".json").read_text(encoding="utf-8"))
    for stored, seeds in ((recorded, SEEDS), (recorded["fitted"], FITTED_SEEDS)):
        now = totals(list(scored(runs, seeds)))
        assert (now["failing"], now["healthy"]) == (stored["failing"], stored["healthy"])
        for share in ("recall", "right_first", "in_time"):
            assert now[share] >= stored[share], share
        assert now["false_alarms"] <= stored["false_alarms"]


def test_stored_runs_are_small() -> None:
    sizes = [path.stat().st_size for path in FOLDER.glob("*.json")]
    assert max(sizes) <= FILE
    assert sum(sizes) <= TOGETHER


def test_few_failures_are_constructed() -> None:
    assert len({failure.name for failure in CONSTRUCTED}) <= 4
    assert len({failure.name for failure in REAL}) == len(REAL)
    assert len(healthy_runs(SEEDS[0])) == len(single_turn())
    assert all(str(DATA) in run.spec["data"]["dataset"] for run in healthy_runs(SEEDS[0]))
    assert {*SEEDS}.isdisjoint(FITTED_SEEDS)


@pytest.mark.parametrize(
    ("rule", "values", "step"),
    [
        ("start", [], 1),
        ("length_grows", [10.0, 10.0, 12.0, 16.0, 20.0], 5),  # (12 + 16 + 20) / 3 = 16 ≥ 13; before: 12.7
        ("entropy_grows", [1.0, 1.0, 1.0], None),
        ("accuracy_falls", [0.6, 0.5, 0.3, 0.2], 4),  # (0.5 + 0.3 + 0.2) / 3 ≤ 0.6 − 0.15; before: 0.47
        ("kl_grows", [0.0, 0.2], 2),
    ],
)
def test_an_onset_is_the_first_step_whose_last_three_show_the_harm(
    rule: Onset, values: list[float], step: int | None
) -> None:
    steps = list(range(1, len(values) + 1))
    names = ("completions/length_mean", "entropy/mean", "kl/mean")
    train = Series(steps, {name: list(values) for name in names})
    accuracy = {
        "held_out": [[0, 0.6]],
        "train": [[step, value] for step, value in zip(steps, values, strict=True)],
    }
    assert truth.onset(rule, train, accuracy) == step


def row(
    named: bool, *, first: bool = False, delay: int | None = None, onset: int | None = 1
) -> dict[str, object]:
    findings = [["cause" if first else "other", 1, 1]] if named or first else []
    return {
        "name": "a", "seed": 0, "kind": "failing", "found": named, "right_first": first, "delay": delay,
        "onset": onset, "findings": findings,
    }  # fmt: skip


def test_totals_count_only_runs_that_failed() -> None:
    healthy = {"name": "b", "kind": "healthy", "seconds": 1800, "false_alarms": 1, "hurt": None}
    hurt = healthy | {"name": "c", "false_alarms": 3, "hurt": 5}
    failing = [row(True, first=True, delay=3), row(True, delay=30), row(False), row(False, onset=None)]
    rows = [*failing, healthy, hurt]
    result = totals(rows)
    assert (result["hurt_presets"], result["findings_of_hurt_presets"]) == (["c"], 3)
    assert (result["failing"], result["found"], result["healthy"], result["false_alarms"]) == (3, 2, 1, 1)
    assert (result["recall"], result["right_first"], result["in_time"]) == (0.667, 0.333, 0.333)
    assert result["false_alarms_per_job_hour"] == 2
    assert result["did_not_fail"] == ["a 0"]
    assert confusion(rows[:3]) == {"a": {"cause": 1, "other": 1, "nothing": 1}}
