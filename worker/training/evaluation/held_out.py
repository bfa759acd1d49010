"""Held-out evaluation: scores the policy on rows that are not trained on, sampled as in training."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from reinforge.records import CompletionSummary
from reinforge.spec import EvaluationSpec as EvaluationSpec
from reinforge.spec import JobSpec
from worker.environment.base import Prompt
from worker.rewards.base import Score, Scorer
from worker.rollout.collect import Collected, Collector, ProgressCallback, Rollout
from worker.rollout.conversations import Decode, Round
from worker.rollout.engine import Sampling
from worker.rollout.noise import Stream
from worker.training.batch import assemble
from worker.training.credit import user_rewards
from worker.training.evaluation.answer_share import answer_values
from worker.training.evaluation.pass_at_k import ANSWERS, best_at_k, interval, maj_at_k, pass_at_k, sizes
from worker.training.prompts.frontier import passed
from worker.training.reporting.metrics import per_reward
from worker.training.reporting.rollout_table import completion_summaries
from worker.training.reporting.slices import Slices


@dataclass(frozen=True, slots=True)
class HeldOutResult:
    collected: Collected
    values: dict[str, float | None]
    summaries: list[CompletionSummary]
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
    slices: Slices,
    progress: ProgressCallback,
) -> HeldOutResult:
    """Score `spec.evaluation.samples_per_row` completions per prompt. policy: None for the base model."""
    sampling_round = Round(
        policy=policy,
        version=version,
        seed=spec.seed,
        stream=Stream.EVALUATE,
        noise_step=0,
        samples_per_prompt=spec.evaluation.samples_per_row,
        sampling=sampling,
    )
    collected = await collector.collect(prompts, sampling_round, progress)
    batch = assemble(collected.groups, scorer, sampling.temperature or 1.0, decode)
    rewards = user_rewards(batch.rows)
    listed = [None if value != value else value for value in rewards.tolist()]
    return HeldOutResult(
        collected,
        _values(listed, spec.evaluation.samples_per_row, batch.rows.lengths)
        | per_reward(batch.rollouts, "held_out")
        | answer_values(batch.rollouts, spec.data.columns.answer)
        | _at_k(spec.evaluation, batch.rollouts, listed)
        | slices.means(
            batch.rollouts,
            {"reward_mean": rewards, "pass_share": passed(rewards, spec.evaluation.pass_above)},
            prefix="held_out/",
        ),
        completion_summaries(batch.rollouts, listed, [None] * len(listed)),
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


def _at_k(
    settings: EvaluationSpec, rollouts: Sequence[Rollout], rewards: Sequence[float | None]
) -> dict[str, float | None]:
    samples, find = settings.samples_per_row, ANSWERS[settings.answer] if settings.answer else None
    values: dict[str, float | None] = {}
    for k in sizes(samples):
        estimates: dict[str, list[float]] = {
            name: [] for name in ("pass", "best", *(["maj"] if find else []))
        }
        for start in range(0, len(rollouts), samples):
            rows = range(start, min(start + samples, len(rollouts)))
            scored = [(rollouts[row].text, value) for row in rows if (value := rewards[row]) is not None]
            if len(scored) < k:
                continue
            right = [value > settings.pass_above for _, value in scored]
            estimates["pass"].append(pass_at_k(len(scored), sum(right), k))
            estimates["best"].append(best_at_k([value for _, value in scored], k))
            if find:
                estimates["maj"].append(maj_at_k([find(text) for text, _ in scored], right, k))
        for name, per_row in estimates.items():
            key = f"held_out/{name}@{k}"
            low, high = interval(per_row) if per_row else (None, None)
            mean = sum(per_row) / len(per_row) if per_row else None
            values |= {key: mean, f"{key}/low": low, f"{key}/high": high}
    return values
