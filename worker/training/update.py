"""Policy updates: optimizer batches of whole groups, the loss, the optimizer."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from reinforge.spec import JobSpec
from worker.algorithm.loss.kl import k3
from worker.algorithm.loss.kl_control import advance_kl, row_betas, with_current_beta
from worker.algorithm.loss.losses import policy_loss
from worker.algorithm.loss.optimizer_batch import OptimizerBatch, batch_constants, loss_inputs, loss_reads
from worker.algorithm.loss.state import advance_loss
from worker.algorithm.rows import State
from worker.policy.base import (
    Batch,
    ForwardBackward,
    LossValue,
    Policy,
    SumCount,
    TokenScores,
    empty_scores,
)
from worker.training.batch import StepBatch
from worker.training.credit import Credit
from worker.training.forward_passes import Passes, policy_scores, reads_policy_before_update
from worker.training.skipped_rows import as_sampled, skippable_rows

LossSettings = Mapping[str, Any]


@dataclass(slots=True)
class Update:
    scores: TokenScores
    """Log-probabilities and entropies under the weights that sampled; the sampler's for skipped rows."""
    state: State
    scored: Tensor
    metrics: dict[str, SumCount] = field(default_factory=dict)
    grad_norms: list[float] = field(default_factory=list)
    skipped: int = 0
    tokens: int = 0
    log_ratio_max: float = 0.0
    """Largest |log policy - log old policy| of a token."""

    def add_first_scores(self, rows: list[int], part: Batch, scores: TokenScores) -> None:
        assert part.skipped is not None
        width = scores.logprobs.shape[1]
        self.scores.logprobs[rows, :width] = scores.logprobs
        self.scores.entropies[rows, :width] = scores.entropies
        self.scored[torch.tensor(rows)[part.skipped]] = False
        self.add({"loss/policy": (0.0, float(part.tensors["counts"][part.skipped].sum()))})

    def add_distance(self, part: Batch, scores: TokenScores) -> None:
        """Record the distance of the policy from the old one: 0 in a step's first update."""
        mask = part.tensors["mask"]
        if "old_logprobs" not in part.tensors:
            self.add({"policy/old_kl": (0.0, float(mask.sum()))})
            return
        log_ratio = (scores.logprobs - part.tensors["old_logprobs"])[mask].double()
        if len(log_ratio):
            self.log_ratio_max = max(self.log_ratio_max, float(log_ratio.abs().max()))
            self.add({"policy/old_kl": (float(k3(-log_ratio, log_ratio).sum()), float(len(log_ratio)))})

    def add(self, metrics: Mapping[str, SumCount]) -> None:
        for key, (total, count) in metrics.items():
            before = self.metrics.get(key, (0.0, 0.0))
            self.metrics[key] = (before[0] + total, before[1] + count)


def update(
    spec: JobSpec,
    policy: Policy,
    batch: StepBatch,
    credit: Credit,
    passes: Passes,
    state: State,
    learning_rate: float,
) -> Update:
    old = passes.old
    done = _begun(batch, old, state)
    settings = with_current_beta(spec.algorithm.loss.model_dump(), state.get("kl", {}))
    groups, idle = mini_batches(batch.rows.group, credit.trained.any(1), spec.algorithm.updates_per_step)
    if old is None:
        # Rows that are not trained on are reported as well.
        groups = [[*groups[0], *idle], *groups[1:]] if groups else [idle]
    for number, rows in enumerate(groups):
        sequences = batch.sequences.take(rows)
        before = _take(old, rows, sequences.longest) if old else None
        if number and reads_policy_before_update(spec):
            before = policy_scores(policy, sequences)
        part = _optimizer_batch(settings, batch, credit, rows, passes, before, done.state, first=number == 0)
        if old is None:
            part = replace(part, skipped=skippable_rows(batch, rows, part.needs_gradient))
        ran = policy.forward_backward(sequences.split(part), PolicyLoss(settings))
        ran = replace(ran, scores=sequences.joined_scores(ran.scores))
        if part.skipped is not None:
            as_sampled(ran.scores, batch, rows, part.skipped)
            done.add_first_scores(rows, part, ran.scores)
        done.add(ran.metrics)
        done.add_distance(part, ran.scores)
        if bool(part.needs_gradient.any()):
            _optimizer_step(spec, policy, part, ran, settings, learning_rate, done)
    distance, tokens = done.metrics.get("kl/mean", (0.0, 0.0))
    kl = advance_kl(
        settings["kl"],
        state.get("kl", {}),
        measured=distance / tokens if tokens else None,
        rows=int(credit.keep.sum()),
    )
    if kl:
        done.state["kl"] = kl
    return done


def _optimizer_step(
    spec: JobSpec,
    policy: Policy,
    part: Batch,
    ran: ForwardBackward,
    settings: LossSettings,
    learning_rate: float,
    done: Update,
) -> None:
    optimizer = spec.optimizer
    norm = policy.optimizer_step(
        learning_rate=learning_rate,
        betas=optimizer.betas,
        eps=optimizer.eps,
        weight_decay=optimizer.weight_decay,
        clip_norm=optimizer.clip_norm,
    )
    if not math.isfinite(norm):
        done.skipped += 1
        return
    done.grad_norms.append(norm)
    done.tokens += int(part.tensors["mask"].sum())
    chosen = part.tensors.get("policy_tokens", part.tensors["mask"])
    entropy = float(ran.scores.entropies[chosen].double().mean()) if bool(chosen.any()) else None
    done.state |= advance_loss(settings, done.state, gradients=ran.gradients, entropy=entropy)


def _begun(batch: StepBatch, old: TokenScores | None, state: State) -> Update:
    scores = old or empty_scores(len(batch.sequences), batch.sequences.longest)
    return Update(scores, dict(state), scored=torch.ones(len(batch.sequences), dtype=torch.bool))


@dataclass(frozen=True, slots=True)
class PolicyLoss:
    """The loss of `settings` as a `LossFunction` that can be sent to other processes."""

    settings: LossSettings

    def __call__(self, scores: TokenScores, tensors: Mapping[str, Tensor]) -> LossValue:
        inputs, reads = loss_inputs(tensors), loss_reads(self.settings)
        if "entropy_gradient" in reads:
            inputs = replace(inputs, entropies=scores.entropies)
        if "execute_scores" in reads:
            inputs = replace(
                inputs, execute_logits=scores.execute_logits, execute_logprobs=scores.execute_logprobs
            )
        parts = policy_loss(scores.logprobs, inputs, self.settings)
        return LossValue(parts.total, parts.metrics, parts.gradients)


def mini_batches(group: Tensor, trained: Tensor, count: int) -> tuple[list[list[int]], list[int]]:
    """Rows of up to `count` mini-batches of whole groups, as even as possible; and rows of groups without a trained
    row.
    """
    numbers = torch.unique(group[trained]).tolist()
    edges = [part * len(numbers) // count for part in range(count + 1)]
    chosen = [set(numbers[start:stop]) for start, stop in itertools.pairwise(edges)]
    listed = group.tolist()
    parts = [[row for row, number in enumerate(listed) if number in part] for part in chosen if part]
    idle = set(listed) - set(numbers)
    return parts, [row for row, number in enumerate(listed) if number in idle]


def _optimizer_batch(
    settings: LossSettings,
    batch: StepBatch,
    credit: Credit,
    rows: list[int],
    passes: Passes,
    before: TokenScores | None,
    state: State,
    *,
    first: bool,
) -> Batch:
    """Batch of one update, its tensors by rollout. before: log-probabilities and entropies under the weights
    before the update. In a step's `first` update the ratio is exactly 1.
    """
    sequences, reads = batch.sequences.take(rows), loss_reads(settings)

    def cut(tensor: Tensor) -> Tensor:
        return tensor[rows] if tensor.dim() == 1 else tensor[rows, : sequences.longest]

    reference = None if passes.reference is None else cut(passes.reference)
    whole = OptimizerBatch(
        mask=cut(credit.trained),
        sampled=cut(credit.counted),
        group=cut(batch.rows.group),
        rewards=cut(credit.outcomes),
        entropies=before.entropies if before else None,
        logprobs=before.logprobs if before else None,
        reference_logprobs=reference,
        factors=None if credit.weights is None else cut(credit.weights),
        independent=None if batch.rows.source is None else cut(batch.rows.independent),
    )
    tensors = {"mask": whole.mask, "advantages": cut(credit.advantages).float()}
    tensors |= batch_constants(settings, whole, state)
    if passes.old is not None and not first:
        tensors["old_logprobs"] = cut(passes.old.logprobs)
    if reference is not None:
        tensors["reference_logprobs"] = reference
    if by := settings["kl"].get("beta_by"):
        column = [batch.rollouts[row].prompt.item.get(by["column"]) for row in rows]
        tensors["betas"] = row_betas(by["values"], column, otherwise=settings["kl"]["beta"])
    if "actions" in reads and batch.rows.turns is not None:
        tensors["actions"] = cut(batch.rows.turns.actions(batch.rows.mask))
    if batch.execute_token is not None and batch.rows.token_ids is not None:
        tensors["executed"] = cut(batch.rows.token_ids).eq(batch.execute_token)
    if "sampler_logprobs" in reads:
        tensors["sampler_logprobs"] = torch.where(
            cut(batch.rows.mask), cut(batch.sampler_logprobs), torch.nan
        )
    return Batch(
        sequences.sequences,
        tensors,
        _moves_policy(settings, tensors) & whole.mask.any(1),
        float(tensors["counts"].sum()) or 1.0,
        entropy_gradient="entropy_gradient" in reads,
        execute_token=batch.execute_token if "execute_scores" in reads else None,
    )


def _moves_policy(settings: LossSettings, tensors: Mapping[str, Tensor]) -> Tensor:
    advantages = tensors["advantages"]
    moves = advantages != 0 if advantages.dim() == 1 else (advantages != 0).any(1)
    if "betas" in tensors:
        moves = moves | (tensors["betas"] > 0)
    elif settings["kl"]["beta"] > 0:
        moves = torch.ones_like(moves)
    for name in ("entropy_weights", "pair_slopes"):
        if name in tensors:
            nonzero = tensors[name] != 0
            moves = moves | (nonzero if nonzero.dim() == 1 else nonzero.any(1))
    return moves


def _take(scores: TokenScores, rows: Sequence[int], width: int) -> TokenScores:
    chosen = list(rows)
    return TokenScores(scores.logprobs[chosen, :width], scores.entropies[chosen, :width])
