"""Scored groups as tensors."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from worker.algorithm.rows import Rows
from worker.policy.base import Sequences
from worker.rewards.base import Score
from worker.rollout.collect import Rollout


@dataclass(frozen=True, slots=True)
class StepBatch:
    """The N rollouts of a step, group after group."""

    rollouts: list[Rollout]
    rows: Rows
    sequences: Sequences
    sampler_logprobs: Tensor
    """(N, T) float32, 0 outside the mask."""

    @property
    def scores(self) -> list[Score]:
        return [rollout.score for rollout in self.rollouts if rollout.score is not None]


def assemble(groups: Sequence[Sequence[Rollout]], weights: Sequence[float], temperature: float) -> StepBatch:
    rollouts = [rollout for group in groups for rollout in group]
    completions = [rollout.token_ids for rollout in rollouts]
    longest = max(len(ids) for ids in completions)
    mask = torch.zeros((len(rollouts), longest), dtype=torch.bool)
    sampler = torch.zeros((len(rollouts), longest))
    for row, rollout in enumerate(rollouts):
        mask[row, : len(completions[row])] = torch.tensor(rollout.action_mask)
        sampler[row, : len(completions[row])] = torch.tensor(rollout.sampler_logprobs)
    rows = Rows(
        group=torch.tensor([rollout.prompt_no for rollout in rollouts]),
        values=torch.tensor([_values(rollout) for rollout in rollouts], dtype=torch.float64),
        weights=torch.tensor(weights, dtype=torch.float64),
        scorable=torch.tensor(
            [rollout.score is not None and not rollout.score.dropped for rollout in rollouts]
        ),
        mask=mask,
        truncated=torch.tensor([rollout.finish_reason == "length" for rollout in rollouts]),
    )
    sequences = Sequences([rollout.prompt.token_ids for rollout in rollouts], completions, temperature)
    return StepBatch(rollouts, rows, sequences, torch.where(mask, sampler, 0.0))


def _values(rollout: Rollout) -> list[float]:
    results = rollout.score.results if rollout.score else ()
    return [float("nan") if result.value is None else result.value for result in results]
