"""How long it takes until held-out rows are answered well, worked out by hand."""

import json
from pathlib import Path
from typing import Any

import pytest
import time_to_reward
from common.folder import Folder
from common.reaching import Reached, best, compared, reached, report_of

from reinforge.spec import JobSpec


def run(*accuracy: float, arm: str = "a", seconds: float = 1.0) -> Reached:
    looks = [(2 * number, value) for number, value in enumerate(accuracy)]
    return Reached(arm, 0, looks, [seconds] * looks[-1][0])


def test_time_is_that_of_the_steps_before_without_evaluations() -> None:
    report = {
        "began": 100.0,
        "ends": [113.0, 114.0, 120.0, 122.0],
        "evaluations": [
            {"step": 0, "accuracy": 0.5, "ended": 110.0},
            {"step": 2, "accuracy": 0.9, "ended": 119.0},
            {"step": 4, "accuracy": 0.95, "ended": 130.0},
        ],
    }
    run = reached("same", 3, report)
    assert run.seconds == [3.0, 1.0, 1.0, 2.0]
    assert (run.steps, run.time) == (2, 4.0)
    summary = run.as_dict(128)
    assert (summary["seed"], summary["samples"], summary["seconds"]) == (3, 256, 4.0)
    assert summary["accuracy"] == [[0, 0.5], [2, 0.9], [4, 0.95]]


def test_without_evaluations_a_step_begins_where_the_one_before_ends() -> None:
    assert reached("a", 0, {"began": 1.0, "ends": [3.0, 4.0], "evaluations": []}).seconds == [2.0, 1.0]


def test_our_side_says_the_same_of_itself(tmp_path: Path) -> None:
    records: list[dict[str, Any]] = [
        {"kind": "phase", "phase": "loading", "ts": 1000.0},
        {"kind": "phase", "phase": "evaluating", "ts": 1010.0},
        {"kind": "evaluated", "step": 0, "values": {"held_out/pass@1": 0.5}, "ts": 1012.0},
        {"kind": "step_metrics", "step": 1, "values": {}, "ts": 1015.0},
        {"kind": "step_metrics", "step": 2, "values": {}, "ts": 1016.0},
        {"kind": "evaluated", "step": 2, "values": {"held_out/pass@1": 0.9}, "ts": 1019.0},
    ]
    (tmp_path / "records.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    run = reached("same", 0, report_of(Folder(tmp_path)))
    assert run.seconds == [3.0, 1.0]
    assert run.accuracy == [(0, 0.5), (2, 0.9)]
    assert run.steps is run.time is None


def test_sides_are_compared_by_medians_and_a_run_that_fails_counts_as_the_longest() -> None:
    own = [run(0.5, 0.9, 0.9), run(0.5, 0.8, 0.9, 0.9), run(0.5, 0.6, 0.6)]
    other = [
        run(0.5, 0.9, 0.9, seconds=3.0),
        run(0.5, 0.9, 0.9, seconds=4.0),
        run(0.5, 0.9, 0.9, seconds=5.0),
    ]
    comparison = compared(own, other, 100)
    assert comparison["ours_samples"] == [400, 200, None]
    assert comparison["peer_samples"] == [200, 200, 200]
    assert (comparison["samples_ratio"], comparison["speed_ratio"]) == (2.0, pytest.approx(8.0 / 4.0))
    assert (comparison["ours_step_seconds"], comparison["peer_step_seconds"]) == (1.0, 4.0)
    assert compared([run(0.5, 0.6)], other, 100)["samples_ratio"] is None


def test_the_best_rate_is_the_one_that_needs_least_or_ends_highest() -> None:
    arms = {
        "1e-04": [run(0.5, 0.6, 0.7)] * 3,
        "3e-04": [run(0.5, 0.6, 0.9, 0.9), run(0.5, 0.9, 0.9), run(0.5, 0.5)],
        "1e-03": [run(0.5, 0.9, 0.9), run(0.5, 0.5), run(0.5, 0.5)],
    }
    assert best(arms) == "3e-04"
    assert best({name: arms[name] for name in ("1e-04", "1e-03")}) == "1e-04"


def test_jobs_are_valid_and_differ_in_what_is_compared_alone() -> None:
    same = JobSpec.model_validate(time_to_reward.job(8, algorithm=time_to_reward.SAME)).resolved()
    default = JobSpec.model_validate(time_to_reward.job(8)).resolved()
    assert same.algorithm.loss.aggregation.type == "token_mean"
    assert same.algorithm.model_copy(update={"loss": default.algorithm.loss}) == default.algorithm
    assert same.rollout == default.rollout and same.optimizer == default.optimizer
    peer = time_to_reward.peer_job(time_to_reward.job(8), 3, "dapo")
    assert (peer["seed"], peer["loss_type"], peer["held_out"]["samples"]) == (3, "dapo", 2)
    assert peer["optimizer"]["learning_rate"] == default.optimizer.learning_rate
