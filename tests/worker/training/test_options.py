"""Options that cut across the slots: a reference that moves, slices, rows drawn by what they have to teach, pass@k."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError

from reinforge.metrics import describe
from tests.support.small_jobs import SmallJob, share_of_low_letters, small_spec
from tests.support.tiny_models import write_tiny_model
from worker.sandbox.outcome import RewardRow
from worker.training.prompts import frontier
from worker.training.reporting.slices import Slices

KL: dict[str, Any] = {
    "algorithm__loss": {"kl": {"beta": 0.01}},
    "optimizer__learning_rate": 0.05,
    "evaluation__rows": 0,
}


@pytest.fixture(scope="module")
def qwen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("qwen3"))


def values_of(job: SmallJob) -> list[dict[str, Any]]:
    return [record.values for record in job.records("step_metrics")]


# ── The reference ───────────────────────────────────────────────────────────────────────────────────────────


def test_at_a_refresh_the_distance_falls_to_nothing(tmp_path: Path, qwen: Path) -> None:
    job = SmallJob(tmp_path, qwen, small_spec(**KL, algorithm__reference={"refresh_every": 2}))
    job.train()
    distances = [values["kl/mean"] for values in values_of(job)]
    # Steps 1 and 3 start where the reference is; 2 and 4 are an update away.
    assert distances[0] == distances[2] == pytest.approx(0, abs=1e-9)
    assert min(distances[1], distances[3]) > 1e-6


def test_a_mixed_reference_is_in_between(tmp_path: Path, qwen: Path) -> None:
    ends = {}
    for mixup in (0.5, 1.0):
        reference = {"refresh_every": 3, "mixup": mixup}
        job = SmallJob(tmp_path / str(mixup), qwen, small_spec(**KL, algorithm__reference=reference))
        job.train()
        ends[mixup] = [values["kl/mean"] for values in values_of(job)]
    assert ends[0.5][:3] == ends[1.0][:3]
    assert ends[0.5][3] > 1e-6
    assert ends[1.0][3] == pytest.approx(0, abs=1e-9)


def test_a_moved_reference_travels_in_the_resume_state(tmp_path: Path, qwen: Path) -> None:
    spec = small_spec(**KL, algorithm__reference={"refresh_every": 1, "mixup": 0.7}, limits__steps=5)
    whole = SmallJob(tmp_path / "whole", qwen, spec)
    whole.train()
    (state, _) = whole.records("resume_state_saved")
    rest = SmallJob(tmp_path / "rest", qwen, spec, resume=whole.blob(state))
    rest.train()
    assert rest.records("checkpoint_saved")[-1].blob == whole.records("checkpoint_saved")[-1].blob
    for key, tensor in whole.policy.state().reference.items():
        assert torch.equal(rest.policy.state().reference[key], tensor)


def test_a_reference_that_nothing_reads_is_refused() -> None:
    with pytest.raises(ValidationError, match="nothing reads the reference"):
        small_spec(algorithm__reference={"refresh_every": 2})
    with pytest.raises(ValidationError, match="`mixup` is not used"):
        small_spec(**KL, algorithm__reference={"mixup": 0.5})


# ── Slices ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_metrics_are_reported_per_value_of_a_column(tmp_path: Path, qwen: Path) -> None:
    rows = [{"prompt": f"row {n}", "domain": "a/b" if n % 2 else "c"} for n in range(12)]
    changes: dict[str, Any] = {
        "data__columns": {"slice": "domain"},
        "limits__steps": 1,
        "evaluation__samples_per_row": 4,
        "algorithm__loss": {"kl": {"beta": 0.01}},
    }
    job = SmallJob(
        tmp_path,
        qwen,
        small_spec(**changes),
        rows=rows,
        grade=lambda row: float(row.item["domain"] == "c"),
    )
    job.train()
    values, held = values_of(job)[0], job.records("evaluated")[0].values
    counted = Counter(row.row_index % 2 for row in job.records("rollouts")[1].rows)
    for name, right, parity in (("a_b", 0.0, 1), ("c", 1.0, 0)):
        if counted[parity]:
            assert values[f"slice/{name}/reward_mean"] == values[f"slice/{name}/pass_share"] == right
            assert values[f"slice/{name}/length_mean"] > 0
            assert values[f"slice/{name}/kl_mean"] == pytest.approx(0, abs=1e-6)
    assert set(counted) == {0, 1}
    values_per_value = {
        key.split("/")[2]: value for key, value in held.items() if "slice" in key and "reward" in key
    }
    assert values_per_value and values_per_value.items() <= {("a_b", 0.0), ("c", 1.0)}
    for key in (*values, *held):
        assert describe(key).meaning, key


def test_the_most_frequent_values_have_metrics_of_their_own() -> None:
    items = [{"kind": n % 30} for n in range(100)]
    slices = Slices.of("kind", items)
    assert len(slices.names) == 20
    assert {"0", "9"} <= set(slices.names) and "29" not in slices.names
    assert Slices.of(None, items).names == {}
    assert Slices.of("kind", [{"kind": "a\0/b"}, {"kind": None}, {}]).names == {"a\0/b": "a__b"}


# ── Frontier sampling ───────────────────────────────────────────────────────────────────────────────────────


def test_rows_are_drawn_by_their_weight() -> None:
    rates = {"0": 0.5, "1": 1.0, "2": 0.0, "3": 0.9}
    drawn = Counter(place for step in range(4000) for place in frontier.draw(7, step, range(4), rates, 1))
    weights = [0.3, 0.05, 0.05, 0.14]
    for place, weight in enumerate(weights):
        assert drawn[place] / 4000 == pytest.approx(weight / sum(weights), abs=0.03)


def test_no_row_is_drawn_twice_while_others_are_left() -> None:
    assert sorted(frontier.draw(1, 1, range(5), {}, 5)) == list(range(5))
    twice = frontier.draw(1, 1, range(3), {}, 5)
    assert sorted(twice[:3]) == [0, 1, 2] and twice[3:] == twice[:2]
    assert frontier.draw(1, 1, range(5), {}, 3) == frontier.draw(1, 1, range(5), {}, 3)
    assert len({tuple(frontier.draw(1, step, range(5), {}, 3)) for step in range(9)}) > 3


def test_a_job_prefers_rows_that_pass_sometimes_and_carries_their_rates_on(
    tmp_path: Path, qwen: Path
) -> None:
    def grade(row: RewardRow) -> float:
        return 1.0 if row.item["n"] >= 4 else float(share_of_low_letters(row) > 0.45)

    rows = [{"prompt": f"row {n}", "n": n} for n in range(12)]
    changes: dict[str, Any] = {
        "data__sampling": "frontier",
        "data__held_out_rows": 0,
        "limits__steps": 24,
        "evaluation__rows": 0,
        "optimizer__learning_rate": 1e-5,
        "rollout__max_completion_tokens": 4,
    }
    whole = SmallJob(tmp_path / "whole", qwen, small_spec(**changes), rows=rows, grade=grade)
    whole.train()
    rates = whole.position.algorithm["frontier"]
    assert all(rates[str(n)] >= 0.75 for n in range(4, 12) if str(n) in rates)
    dealt = Counter(
        row.row_index for record in whole.records("rollouts")[8:] for row in record.rows if row.sample_no == 0
    )
    assert sum(dealt[n] for n in range(4)) / 4 > sum(dealt[n] for n in range(4, 12)) / 8
    state = whole.records("resume_state_saved")[0]
    rest = SmallJob(
        tmp_path / "rest", qwen, small_spec(**changes), rows=rows, grade=grade, resume=whole.blob(state)
    )
    rest.train()
    assert rest.position.algorithm["frontier"] == rates


# ── pass@k ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_evaluation_tells_what_several_completions_achieve(tmp_path: Path, qwen: Path) -> None:
    changes: dict[str, Any] = {
        "evaluation": {
            "every_steps": 0,
            "rows": 3,
            "samples_per_row": 4,
            "answer": "last_line",
            "pass_above": 0.4,
        },
        "limits__steps": 1,
    }
    job = SmallJob(tmp_path, qwen, small_spec(**changes))
    job.train()
    values = job.records("evaluated")[0].values
    for kind in ("pass", "best", "maj"):
        for k in (1, 2, 4):
            mean, low, high = (values[f"held_out/{kind}@{k}{end}"] for end in ("", "/low", "/high"))
            assert low <= mean <= high
    assert values["held_out/best@1"] == pytest.approx(values["held_out/reward_mean"])
    assert values["held_out/pass@1"] <= values["held_out/pass@2"] <= values["held_out/pass@4"]
    rewards = [row.reward for row in job.records("rollouts")[0].rows]
    assert values["held_out/best@4"] == pytest.approx(sum(max(rewards[at : at + 4]) for at in (0, 4, 8)) / 3)
