"""Remedies of the diagnosis are changes that a fork accepts."""

from typing import Any

import pytest

from backend.jobs.lifecycle import fork
from tests.reinforge.diagnosis.test_detectors import CASES, diagnosed
from tests.support.small_jobs import small_spec

ALGORITHMS: dict[str, dict[str, Any]] = {
    **{name: {"preset": name} for name in ("grpo", "dr_grpo", "dapo", "gspo", "cispo", "rloo")},
    "KL in the reward": {"preset": "grpo", "shaping": {"type": "weighted_sum", "kl": {"beta": 0.05}}},
    "KL in the loss": {"preset": "grpo", "loss": {"kl": {"beta": 0.04}}},
}


def resolved_spec(algorithm: dict[str, Any], rewards: list[dict[str, Any]]) -> dict[str, Any]:
    spec = small_spec(algorithm=algorithm, limits__steps=60, rollout__completions_per_prompt=8)
    resolved = spec.resolved(engine="transformers", hidden_size=64).model_dump(mode="json")
    python = resolved["rewards"][0]
    resolved["rewards"] = [python | {"name": item["name"], "weight": item["weight"]} for item in rewards]
    return resolved


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_fork_accepts_what_findings_propose(name: str) -> None:
    refused, count = [], 0
    for code, (shapes, more, _) in CASES.items():
        rewards = more.get("spec", {}).get("rewards", [{"name": "main", "weight": 1.0}])
        spec = resolved_spec(ALGORITHMS[name], rewards)
        for finding in diagnosed(shapes, **(more | {"spec": spec})):
            for remedy in finding.remedies:
                count += 1
                if remedy.kind == "fork" and not fork.accepts(spec, remedy.step or 0, remedy.set):
                    refused.append((code, finding.code, remedy.set))
    assert refused == []
    assert count >= 20


def test_a_remedy_that_the_loss_refuses_is_not_proposed() -> None:
    """DRPO compares with the sampler itself."""
    spec = resolved_spec({"preset": "drpo"}, [{"name": "main", "weight": 1.0}])
    first = diagnosed(CASES["sampler_mismatch"][0], spec=spec)[0]
    remedy = first.remedies[0]
    assert not fork.accepts(spec, remedy.step or 0, remedy.set)


def test_a_fork_after_the_last_step_is_not_accepted() -> None:
    spec = resolved_spec({"preset": "grpo"}, [{"name": "main", "weight": 1.0}])
    assert [fork.accepts(spec, step, {"seed": 3}) for step in (59, 60)] == [True, False]
