"""Critic updates on the policy's mini-batches, towards the returns of the advantage estimator."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from reinforge.algorithm.critic import ValueHead
from reinforge.spec import JobSpec
from worker.algorithm.loss.value_loss import value_loss, value_metrics
from worker.policy.base import Batch, Critic, LossValue
from worker.training.batch import StepBatch
from worker.training.credit import Credit
from worker.training.forward_passes import Passes
from worker.training.update import Update, mini_batches


def update_critic(
    spec: JobSpec,
    critic: Critic,
    batch: StepBatch,
    credit: Credit,
    passes: Passes,
    learning_rate: float,
    done: Update,
) -> None:
    """Update the critic once per mini-batch of whole groups. learning_rate: the policy's."""
    settings, optimizer = spec.algorithm.critic, spec.optimizer
    returns, old = credit.returns, passes.values
    if not isinstance(settings, ValueHead) or returns is None or old is None:
        raise ValueError("a critic update needs the critic's values and an advantage type with returns")
    done.add(value_metrics(old, returns, credit.trained))
    share = learning_rate / optimizer.rate
    groups, _ = mini_batches(batch.rows.group, credit.trained.any(1), spec.algorithm.updates_per_step)
    for rows in groups:
        sequences = batch.sequences.take(rows)
        mask, part_returns, before = (
            tensor[rows, : sequences.longest] for tensor in (credit.trained, returns.float(), old)
        )
        tensors = {"mask": mask, "returns": part_returns, "old_values": before}
        part = Batch(sequences.sequences, tensors, mask.any(1), float(mask.sum()))
        done.add(critic.forward_backward(sequences.split(part), ClippedValueLoss(settings.clip_range)))
        norm = critic.optimizer_step(
            learning_rate=(settings.learning_rate or optimizer.rate) * share,
            betas=optimizer.betas,
            eps=optimizer.eps,
            weight_decay=optimizer.weight_decay,
            clip_norm=optimizer.clip_norm,
        )
        if math.isfinite(norm):
            done.add({"critic/grad_norm": (norm, 1.0)})
        else:
            done.skipped += 1


@dataclass(frozen=True, slots=True)
class ClippedValueLoss:
    """`value_loss` as a `ValueFunction` that can be sent to other processes."""

    clip_range: float | None

    def __call__(self, values: Tensor, tensors: Mapping[str, Tensor]) -> LossValue:
        returns, old, mask = tensors["returns"], tensors["old_values"], tensors["mask"]
        parts = value_loss(values, returns, old, mask, clip_range=self.clip_range)
        return LossValue(parts.total, parts.metrics)
