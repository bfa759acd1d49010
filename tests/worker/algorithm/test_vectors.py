"""The worked cases in `tests/vectors` for every function that exists; values and gradients, with each case's tolerance.

A case without a function is listed in `LATER`, so that none is forgotten silently.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from worker.algorithm.advantages import ADVANTAGES
from worker.algorithm.aggregation import AGGREGATIONS, token_weights
from worker.algorithm.kl import KL_ESTIMATORS
from worker.algorithm.losses import LossInputs, policy_loss
from worker.algorithm.rows import Rows
from worker.algorithm.selection import keep_all
from worker.algorithm.shaping import weighted_sum

VECTORS = Path(__file__).parents[2] / "vectors" / "algorithm_vectors.json"
CASES: dict[str, dict[str, Any]] = {
    case["id"]: case for case in json.loads(VECTORS.read_text(encoding="utf-8"))["vectors"]
}
Case = dict[str, Any]
Found = dict[str, Any]


def rows_of(values: list[list[float | None]], group: list[int], weights: list[float]) -> Rows:
    table = torch.tensor([[float("nan") if v is None else float(v) for v in row] for row in values]).double()
    count = len(values)
    return Rows(
        group=torch.tensor(group),
        values=table,
        weights=torch.tensor(weights).double(),
        scorable=torch.ones(count, dtype=torch.bool),
        mask=torch.ones((count, 1), dtype=torch.bool),
        truncated=torch.zeros(count, dtype=torch.bool),
    )


def group_rows(rewards: list[list[float]]) -> tuple[Rows, Tensor]:
    flat = [value for group in rewards for value in group]
    numbers = [number for number, group in enumerate(rewards) for _ in group]
    return rows_of([[value] for value in flat], numbers, [1.0]), torch.tensor(flat).double()


def advantages_of(name: str, rewards: list[list[float]], **params: float) -> list[list[float]]:
    rows, flat = group_rows(rewards)
    values = ADVANTAGES[name](rows, flat, torch.ones(len(flat), dtype=torch.bool), **params)
    return [group.tolist() for group in values.split([len(group) for group in rewards])]


def advantage_case(name: str, *params: str) -> Callable[[Case], Found]:
    def check(case: Case) -> Found:
        chosen = {key: case["params"][key] for key in params}
        return {"advantages": advantages_of(name, case["inputs"]["rewards"], **chosen)}

    return check


def weighted_sum_case(case: Case) -> Found:
    groups = case["inputs"]["rewards_per_func"]
    rows = rows_of(
        [row for group in groups for row in group], [0] * len(groups[0]), case["params"]["weights"]
    )
    rewards, _ = weighted_sum(rows, {})
    keep, _ = keep_all(rows, rewards, {})
    advantages = ADVANTAGES["grpo"](rows, rewards, keep, eps=case["params"]["eps"])
    return {"reward": [rewards.tolist()], "grpo_advantages": [advantages.tolist()]}


def unscorable_case(case: Case) -> Found:
    values = case["inputs"]["rewards_per_func"]
    rows = rows_of(values, [0] * len(values), [1.0, 1.0])
    rewards, _ = weighted_sum(rows, {})
    keep, _ = keep_all(rows, rewards, {})
    return {"advantages": ADVANTAGES["grpo"](rows, rewards, keep, eps=case["params"]["eps"]).tolist()}


def loss_case(
    aggregation: dict[str, Any], eps: tuple[float, float], kl: str | None = None, beta: float = 0.0
) -> Callable[[Case], Found]:
    def check(case: Case) -> Found:
        inputs = {key: torch.tensor(value).double() for key, value in case["inputs"].items()}
        mask = inputs["mask"].bool()
        weights = token_weights(aggregation, mask)
        logprobs = inputs["logp"].requires_grad_()
        parts = policy_loss(
            logprobs,
            LossInputs(
                mask=mask,
                advantages=inputs["advantages"],
                token_weights=weights.weights,
                counts=weights.counts,
                old_logprobs=inputs["old_logp"],
                reference_logprobs=inputs.get("ref_logp"),
            ),
            {
                "ratio_level": "token",
                "surrogate": {"type": "ppo_clip", "eps_low": eps[0], "eps_high": eps[1]},
                "kl": {"beta": beta, "estimator": kl or "k3"},
            },
        )
        loss = parts.total / weights.counts.sum()
        torch.autograd.backward(loss)
        assert logprobs.grad is not None
        return {"loss": loss.item(), "grad_logp": logprobs.grad.tolist()}

    return check


def kl_case(case: Case) -> Found:
    found: Found = {}
    for name, estimator in KL_ESTIMATORS.items():
        logprobs = torch.tensor(case["inputs"]["logp"]).double().requires_grad_()
        values = estimator(logprobs, torch.tensor(case["inputs"]["ref_logp"]).double())
        torch.autograd.backward(values.sum())
        assert logprobs.grad is not None
        found |= {name: values.tolist(), f"grad_{name}": logprobs.grad.tolist()}
    return found


def aggregation_case(case: Case) -> Found:
    mask = torch.tensor(case["inputs"]["mask"]).bool()
    losses = torch.tensor(case["inputs"]["per_token_loss"])
    found = {}
    for name in AGGREGATIONS:
        params = {"length": case["params"]["L_const"]} if name == "constant" else {}
        weights = token_weights({"type": name, **params}, mask)
        found[name] = ((losses * weights.weights).sum() / weights.counts.sum()).item()
    return found


CHECKS: dict[str, Callable[[Case], Found]] = {
    "adv.grpo.sample_std_eps1e-4": advantage_case("grpo", "eps"),
    "adv.grpo.sample_std_eps1e-6": advantage_case("grpo", "eps"),
    "adv.dr_grpo": advantage_case("dr_grpo"),
    "reward.weighted_sum": weighted_sum_case,
    "edge.unscorable_rows": unscorable_case,
    "loss.grpo.seq_mean": loss_case({"type": "seq_mean"}, (0.2, 0.2)),
    "loss.dr_grpo.constant": loss_case({"type": "constant", "length": 4}, (0.2, 0.2)),
    "loss.grpo_with_k3": loss_case({"type": "seq_mean"}, (0.2, 0.2), "k3", 0.04),
    "kl.estimators": kl_case,
    "agg.modes": aggregation_case,
}
LATER = frozenset(CASES) - frozenset(CHECKS)
"""Variants whose functions do not exist yet."""


@pytest.mark.parametrize("name", sorted(CHECKS))
def test_worked_case(name: str) -> None:
    case = CASES[name]
    found = CHECKS[name](case)
    compared = set(found) & set(case["expected"])
    assert compared, "the check and the case share no value"
    for key in compared:
        torch.testing.assert_close(
            torch.tensor(found[key]).double(),
            torch.tensor(case["expected"][key]).double(),
            rtol=0,
            atol=max(case["atol"], 1e-6),
        )


def test_every_case_is_accounted_for() -> None:
    assert len(CASES) == 56
    assert len(CHECKS) + len(LATER) == 56
