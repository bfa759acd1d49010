"""Held-out evaluation: the policy on rows it is never trained on, sampled and scored like training.

The noise is the same in every evaluation of a job, so that two of them differ by the policy alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from reinforge.records import RowStatus
from reinforge.spec import JobSpec
from worker.environment.base import Prompt
from worker.rewards.base import Score, Scorer
from worker.rollout.collect import Collected, Collector, Decode, Round, Tell
from worker.rollout.engine import Sampling
from worker.rollout.noise import Stream
from worker.training.batch import assemble
from worker.training.credit import held_out_rewards
from worker.training.rollout_table import row_statuses


@dataclass(frozen=True, slots=True)
class Evaluation:
    collected: Collected
    values: dict[str, float | None]
    statuses: list[RowStatus]
    rows: int

    @property
    def scores(self) -> list[Score]:
        return [rollout.score for rollout in self.collected.rollouts if rollout.score is not None]

    @property
    def reward(self) -> float | None:
        return self.values["held_out/reward_mean"]


async def evaluate(
    spec: JobSpec,
    collector: Collector,
    scorer: Scorer,
    prompts: Sequence[Prompt],
    *,
    policy: str | None,
    version: int,
    sampling: Sampling,
    decode: Decode,
    tell: Tell,
) -> Evaluation:
    """Score `spec.evaluation.samples_per_row` completions of each prompt; `policy` None is the base model."""
    round = Round(
        policy=policy,
        version=version,
        seed=spec.seed,
        stream=Stream.EVALUATE,
        noise_step=0,
        samples_per_prompt=spec.evaluation.samples_per_row,
        sampling=sampling,
    )
    collected = await collector.collect(prompts, round, tell)
    batch = assemble(collected.groups, scorer, sampling.temperature or 1.0, decode)
    rewards = held_out_rewards(spec, batch)
    listed = [None if value != value else value for value in rewards.tolist()]
    return Evaluation(
        collected,
        _values(listed, spec.evaluation.samples_per_row, batch.rows.lengths),
        row_statuses(batch.rollouts, listed, [None] * len(listed)),
        len(prompts),
    )


def _values(rewards: list[float | None], samples: int, lengths: torch.Tensor) -> dict[str, float | None]:
    groups = [rewards[start : start + samples] for start in range(0, len(rewards), samples)]
    scored = [[value for value in group if value is not None] for group in groups]
    means = torch.tensor([sum(group) / len(group) for group in scored if group], dtype=torch.float64)
    return {
        "held_out/reward_mean": float(means.mean()) if len(means) else None,
        "held_out/reward_std_error": float(means.std() / len(means) ** 0.5) if len(means) > 1 else None,
        "held_out/length_mean": float(lengths.double().mean()),
        "held_out/error_share": 1 - sum(map(len, scored)) / max(1, len(rewards)),
    }
