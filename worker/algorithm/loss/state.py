"""State of the loss between updates, JSON values: its own trained parameters and the entropy controller."""

from collections.abc import Mapping
from typing import Any

from worker.algorithm.loss.entropy import controlled
from worker.algorithm.rows import PartSettings, State

LAMBDA_BOUND = 4.0
"""Bound of |λ|: beyond it one row of a group takes nearly all the weight."""


def loss_parameters(loss: Mapping[str, Any], state: State) -> dict[str, float]:
    parameters: dict[str, float] = dict(state.get("parameters", {}))
    for name, settings in _trained(loss).items():
        parameters.setdefault(name, float(settings["initial"]))
    return parameters


def advance_loss(
    loss: Mapping[str, Any], state: State, *, gradients: Mapping[str, float], entropy: float | None = None
) -> State:
    """State after an optimizer update: the loss's own parameters take a step of gradient descent, within ±
    LAMBDA_BOUND.

    gradients: by parameter, divided by the batch's Σ count. entropy: mean, in nats.
    """
    after: State = {}
    parameters = loss_parameters(loss, state)
    for name, settings in _trained(loss).items():
        value = parameters[name] - settings["learning_rate"] * gradients.get(name, 0.0)
        parameters[name] = min(max(value, -LAMBDA_BOUND), LAMBDA_BOUND)
    if parameters:
        after["parameters"] = parameters
    bonus = controlled(loss.get("entropy", {"type": "none"}), state.get("entropy", {}), entropy)
    if bonus:
        after["entropy"] = bonus
    return after


def _trained(loss: Mapping[str, Any]) -> dict[str, PartSettings]:
    aggregation = loss["aggregation"]
    return {"lambda": aggregation} if aggregation["type"] == "lambda" else {}
