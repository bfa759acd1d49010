"""Shaping, selection and advantages of a step's scored rows."""

from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from reinforge.algorithm.advantage import GrpoAdvantage
from reinforge.algorithm.selection import Axpo
from reinforge.errors import JobFailure
from reinforge.spec import JobSpec
from worker.algorithm.advantages import advantages, observe, value_targets
from worker.algorithm.loss.kl_control import advance_kl, with_current_beta
from worker.algorithm.rows import Rows, State
from worker.algorithm.selection import Selected, select
from worker.algorithm.selection.axpo import SplitCredit, split_credit
from worker.algorithm.shaping import Shaped, shape
from worker.algorithm.shaping.combine import sum_of
from worker.algorithm.shaping.reward_kl import mean_kl
from worker.policy.base import SumCount
from worker.training.batch import StepBatch
from worker.training.forward_passes import Passes


@dataclass(frozen=True, slots=True)
class StepSelection:
    rows: Rows
    shaped: Shaped
    selected: Selected
    reward_kl: State


@dataclass(frozen=True, slots=True)
class Credit:
    rewards: Tensor
    """Rewards before shaping, (N,) float64; NaN if missing."""
    compared: Tensor
    """Rewards on a fixed scale, to test whether those of a group are equal, (N,) float64; NaN if missing."""
    outcomes: Tensor
    """Rewards that selection and advantage compare, (N,) float64; NaN if missing."""
    keep: Tensor
    trained: Tensor
    """Tokens in the loss, (N, T) bool."""
    counted: Tensor
    advantages: Tensor
    """Advantages, (N,) or (N, T) float64, 0 outside `keep`."""
    returns: Tensor | None = None
    state: dict[str, Any] = field(default_factory=dict)
    metrics: dict[str, SumCount] = field(default_factory=dict)
    weights: Tensor | None = None
    """Factors of the rows' losses, (N,) float64; None for 1."""


def choose(
    spec: JobSpec, batch: StepBatch, passes: Passes, state: dict[str, Any], *, rounds: int = 1
) -> StepSelection:
    algorithm, rows = spec.algorithm, batch.rows
    old = passes.old
    rows = replace(
        rows,
        seed=spec.seed,
        group_count=spec.rollout.prompts_per_step,
        rounds=rounds,
        old_logprobs=old.logprobs if old else None,
        entropies=old.entropies if old else None,
        reference_logprobs=passes.reference,
    )
    kl_state = state.get("reward_kl", {})
    settings = with_current_beta(algorithm.shaping.model_dump(), kl_state)
    try:
        shaped = shape(settings, rows, state.get("shaping", {}))
        rows = replace(rows, token_rewards=shaped.token_rewards)
        selected = select(algorithm.selection.model_dump(), rows, shaped.rewards, state.get("selection", {}))
    except ValueError as error:
        raise _missing(error) from error
    if (settings.get("kl") or {}).get("adaptive"):
        kl_state = advance_kl(settings["kl"], kl_state, measured=mean_kl(rows), rows=len(rows.mask))
    return StepSelection(rows, shaped, selected, kl_state)


def assign_credit(
    spec: JobSpec, choice: StepSelection, passes: Passes, *, metrics: dict[str, float]
) -> Credit:
    settings, shaped, selected = spec.algorithm.advantage.model_dump(), choice.shaped, choice.selected
    rows = choice.rows
    if passes.old is not None:
        rows = replace(rows, old_logprobs=passes.old.logprobs, entropies=passes.old.entropies)
    rows = replace(rows, state_values=passes.values)
    split = _split(spec, rows, shaped.rewards, selected.keep)
    try:
        values = split.advantages if split else advantages(settings, rows, shaped.rewards, selected.keep)
        returns = value_targets(settings, rows, shaped.rewards, selected.keep)
        observed = observe(settings, rows, shaped.rewards, selected.keep)
    except ValueError as error:
        raise _missing(error) from error
    keep = selected.keep & shaped.trained
    tokens = rows.mask if selected.injected is None else rows.mask | selected.injected
    if split:
        tokens = tokens & split.trained
    counted = selected.keep if selected.counted is None else selected.counted
    return Credit(
        rewards=user_rewards(rows),
        compared=shaped.reported,
        outcomes=shaped.rewards,
        keep=keep,
        trained=tokens & keep[:, None],
        counted=tokens & (counted & shaped.trained)[:, None],
        advantages=values,
        returns=returns,
        state={
            "shaping": shaped.state,
            "selection": selected.state,
            **({"reward_kl": choice.reward_kl} if choice.reward_kl else {}),
        },
        metrics={name: (value, 1.0) for name, value in metrics.items()}
        | observed
        | _shaped_mean(spec, shaped),
        weights=split.weights if split else None,
    )


def _split(spec: JobSpec, rows: Rows, rewards: Tensor, keep: Tensor) -> SplitCredit | None:
    selection, advantage = spec.algorithm.selection, spec.algorithm.advantage
    if rows.source is None or not isinstance(selection, Axpo) or not isinstance(advantage, GrpoAdvantage):
        return None
    return split_credit(
        rows, rewards, keep, correct_above=selection.correct_above, std=advantage.std, eps=advantage.eps
    )


def no_credit(batch: StepBatch) -> Credit:
    nothing = torch.zeros_like(batch.rows.mask)
    rewards = user_rewards(batch.rows)
    return Credit(rewards, rewards, rewards, nothing.any(1), nothing, nothing, torch.zeros_like(rewards))


def user_rewards(rows: Rows) -> Tensor:
    """Unshaped reward of each row i, (N,) float64: Σ_k weight_k · r_{i,k} over rewards k; NaN if missing.
    Comparable between algorithms.
    """
    return sum_of(rows, rows.values)


def _shaped_mean(spec: JobSpec, shaped: Shaped) -> dict[str, SumCount]:
    if not spec.algorithm.shaping.changes_reward:
        return {}
    per_row = shaped.rewards if shaped.token_rewards is None else shaped.token_rewards.sum(1)
    scored = per_row[~per_row.isnan()]
    return {"reward/shaped_mean": (float(scored.sum()), float(len(scored)))}


def _missing(error: ValueError) -> JobFailure:
    return JobFailure(
        f"The algorithm cannot use what the rewards returned: {error}",
        code="algorithm_input_missing",
        hint="Let a reward return what is missing, or choose another type for this part in `algorithm`.",
    )
