"""Every preset that one completion per prompt can run: two small steps on the starter model."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from reinforge.offline.train import model_folder
from reinforge.presets import PRESETS
from reinforge.spec import JobSpec
from tests.support.small_jobs import SmallJob, small_spec
from worker.sandbox.outcome import RewardRow, RowResult

EXAMPLES = Path(__file__).parents[3] / "examples" / "arithmetic"
SINGLE_TURN = sorted(
    name for name, card in PRESETS.items() if not any("environment" in need for need in card.needs)
)
STARTER = model_folder("starter-arith")


def graded(row: RewardRow) -> RowResult:
    """Half of all completions are right, for no reason, so that every group has signal; the rest is what slots ask
    for."""
    code = sum(map(ord, row.completion))
    right, grade = float(code % 2), (code % 11) / 110
    half = len(row.completion) // 2
    return RowResult(
        "ok",
        right + grade,
        steps=[(grade, half), (right, len(row.completion))],
        criteria={"right": right, "grade": grade},
        candidates=[[right, grade], [grade, right]],
    )


def starter_spec(**changes: Any) -> JobSpec:
    shape: dict[str, Any] = {
        "data__held_out_rows": 0,
        "rollout__prompts_per_step": 2,
        "rollout__completions_per_prompt": 6,
        "rollout__max_completion_tokens": 20,
        "rollout__temperature": 2.0,
        "optimizer__learning_rate": 0.03,
        "limits__steps": 2,
        "limits__checkpoint_every": 10,
        "evaluation__rows": 0,
        "algorithm__updates_per_step": 2,
    }
    return small_spec(**(shape | changes))


def starter_rows(count: int = 60) -> list[dict[str, Any]]:
    lines = (EXAMPLES / "additions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines[:count]]


@pytest.mark.parametrize("preset", SINGLE_TURN)
def test_a_preset_trains(tmp_path: Path, preset: str) -> None:
    rewards = [
        {"type": "python", "name": name, "source": "def grade(sample, item): ..."} for name in ("a", "b")
    ]
    changes: dict[str, Any] = {"algorithm__preset": preset, "rewards": rewards}
    if PRESETS[preset].slots.get("selection", {}).get("type") == "guided_correction":
        changes["algorithm__selection"] = {"max_tokens": 10}
    spec = starter_spec(**changes)
    job = SmallJob(tmp_path, STARTER, spec, rows=starter_rows(), grade=graded)
    before = job.policy.state().adapter
    assert job.train().outcome == "succeeded"
    steps = [record.values for record in job.records("step_metrics")]
    assert len(steps) == 2
    for values in steps:
        assert all(value is None or math.isfinite(value) for value in values.values())
    assert max(values["optimizer/grad_norm"] or 0 for values in steps) > 0
    assert steps[-1]["optimizer/skipped_updates"] == 0
    after = job.policy.state().adapter
    assert any(not torch.equal(after[key], tensor) for key, tensor in before.items())
    surrogate = spec.algorithm.loss.surrogate
    if getattr(surrogate, "eps_high", 1.0) < 0.3:
        clipped = sum(values["policy/clip_low_share"] + values["policy/clip_high_share"] for values in steps)
        assert clipped > 0
