"""From a scored batch to updated weights: the four slots of the algorithm, then the optimizer."""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from reinforge.spec import JobSpec
from worker.algorithm.advantages import READS_OLD_POLICY, advantages
from worker.algorithm.aggregation import token_weights
from worker.algorithm.losses import LossInputs, policy_loss
from worker.algorithm.rows import Rows
from worker.algorithm.selection import select
from worker.algorithm.shaping import shape
from worker.policy.base import Batch, LossFunction, LossValue, Policy, SumCount, TokenScores, empty_scores
from worker.training.batch import StepBatch


@dataclass(frozen=True, slots=True)
class Credit:
    """What slots 1 to 3 decided about N rows."""

    rewards: Tensor
    """(N,) float64, NaN for rows without one."""
    keep: Tensor
    """(N,) bool: rows that are trained on."""
    advantages: Tensor
    """(N,) or (N, T) float64, 0 outside `keep`."""
    state: dict[str, Any]
    """Of the slots, by slot name, for the next step."""


@dataclass(slots=True)
class Update:
    """What the update of one step did."""

    scores: TokenScores
    """Of all rows, under the weights that sampled them."""
    metrics: dict[str, SumCount] = field(default_factory=dict)
    grad_norms: list[float] = field(default_factory=list)
    """Before clipping, of each update made."""
    skipped: int = 0
    """Updates not made because the gradient was not finite."""
    tokens: int = 0
    """Completion tokens in the loss."""


def assign_credit(spec: JobSpec, batch: StepBatch, state: dict[str, Any], old: TokenScores | None) -> Credit:
    """Slots 1 to 3. `old` is there when `reads_old_policy`."""
    algorithm = spec.algorithm
    rows: Rows = batch.rows
    if old is not None:
        rows = replace(rows, old_logprobs=old.logprobs, entropies=old.entropies)
    shaped = shape(algorithm.shaping.model_dump(), rows, state.get("shaping", {}))
    rows = replace(rows, token_rewards=shaped.token_rewards)
    selected = select(algorithm.selection.model_dump(), rows, shaped.rewards, state.get("selection", {}))
    values = advantages(algorithm.advantage.model_dump(), rows, shaped.rewards, selected.keep)
    return Credit(
        shaped.reported,
        selected.keep & shaped.trained,
        values,
        {"shaping": shaped.state, "selection": selected.state},
    )


def reads_old_policy(spec: JobSpec) -> bool:
    """A forward pass is needed before the first update: because later updates compare with the weights that
    sampled, or because slot 3 looks at them. With one update the policy *is* the old policy and none is needed."""
    return spec.algorithm.updates_per_step > 1 or spec.algorithm.advantage.type in READS_OLD_POLICY


def update(
    spec: JobSpec,
    policy: Policy,
    batch: StepBatch,
    credit: Credit,
    old: TokenScores | None,
    learning_rate: float,
) -> Update:
    """One optimizer update per mini-batch of whole groups. A mini-batch without any signal makes none."""
    beta = spec.algorithm.loss.kl.beta
    reference = policy.reference_log_probs(batch.sequences) if beta > 0 else None
    done = Update(scores=old or empty_scores(len(batch.sequences), batch.sequences.longest))
    loss = loss_function(spec)
    for rows in mini_batches(batch.rows.group, spec.algorithm.updates_per_step):
        part = _optimizer_batch(spec, batch, credit, rows, old, reference)
        if part.denominator == 0:
            part = replace(part, denominator=1.0)
        ran = policy.forward_backward(part, loss)
        if old is None:
            width = ran.scores.logprobs.shape[1]
            done.scores.logprobs[rows, :width] = ran.scores.logprobs
            done.scores.entropies[rows, :width] = ran.scores.entropies
        for key, (total, count) in ran.metrics.items():
            before = done.metrics.get(key, (0.0, 0.0))
            done.metrics[key] = (before[0] + total, before[1] + count)
        if not bool(part.needs_gradient.any()):
            continue
        optimizer = spec.optimizer
        norm = policy.optimizer_step(
            learning_rate=learning_rate,
            betas=optimizer.betas,
            eps=optimizer.eps,
            weight_decay=optimizer.weight_decay,
            clip_norm=optimizer.clip_norm,
        )
        if math.isfinite(norm):
            done.grad_norms.append(norm)
            done.tokens += int(part.tensors["mask"].sum())
        else:
            done.skipped += 1
    return done


def loss_function(spec: JobSpec) -> LossFunction:
    """The specification's loss as the policy calls it on each micro-batch."""
    slot = spec.algorithm.loss.model_dump()

    def loss(scores: TokenScores, tensors: Mapping[str, Tensor]) -> LossValue:
        parts = policy_loss(
            scores.logprobs,
            LossInputs(
                mask=tensors["mask"],
                advantages=tensors["advantages"],
                token_weights=tensors["token_weights"],
                counts=tensors["counts"],
                old_logprobs=tensors.get("old_logprobs"),
                reference_logprobs=tensors.get("reference_logprobs"),
            ),
            slot,
        )
        return LossValue(parts.total, parts.metrics)

    return loss


def mini_batches(group: Tensor, count: int) -> list[list[int]]:
    """Row numbers of `count` mini-batches of whole groups, as even as can be, in order."""
    numbers = torch.unique(group).tolist()
    edges = [part * len(numbers) // count for part in range(count + 1)]
    chosen = [set(numbers[start:stop]) for start, stop in itertools.pairwise(edges)]
    return [[row for row, number in enumerate(group.tolist()) if number in part] for part in chosen if part]


def _optimizer_batch(
    spec: JobSpec,
    batch: StepBatch,
    credit: Credit,
    rows: list[int],
    old: TokenScores | None,
    reference: Tensor | None,
) -> Batch:
    sequences = batch.sequences.take(rows)
    mask = (batch.rows.mask & credit.keep[:, None])[rows, : sequences.longest]
    weights = token_weights(spec.algorithm.loss.aggregation.model_dump(), mask)
    values = credit.advantages[rows].float()
    tensors = {
        "mask": mask,
        "advantages": values if values.dim() == 1 else values[:, : sequences.longest],
        "token_weights": weights.weights,
        "counts": weights.counts,
    }
    if old is not None:
        tensors["old_logprobs"] = old.logprobs[rows, : sequences.longest]
    if reference is not None:
        tensors["reference_logprobs"] = reference[rows, : sequences.longest]
    signal = values != 0 if values.dim() == 1 else (values != 0).any(1)
    if reference is not None:
        signal = torch.ones_like(signal)
    return Batch(sequences, tensors, signal & mask.any(1), float(weights.counts.sum()))
