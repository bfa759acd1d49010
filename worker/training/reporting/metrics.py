"""Metrics of one step, by the names in `reinforge.metrics`. Undefined values are None, never NaN."""

import math
import resource
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from reinforge.environment_spec import AGENT
from reinforge.spec import JobSpec
from worker.algorithm.advantages import group_statistics
from worker.algorithm.loss.entropy import coefficient
from worker.algorithm.loss.kl import k3
from worker.algorithm.loss.kl_control import current_beta
from worker.algorithm.rows import State
from worker.policy.base import Critic, Policy
from worker.rewards.base import RewardResult
from worker.rollout.collect import Collected, Rollout
from worker.training.batch import StepBatch
from worker.training.checkpoint.resume_state import Position
from worker.training.credit import Credit
from worker.training.forward_passes import Passes
from worker.training.prompts.frontier import passed
from worker.training.reporting.diagnostics import diagnostics, within_groups
from worker.training.reporting.reward_spreads import reward_spreads
from worker.training.reporting.slices import Slices
from worker.training.reporting.turn_metrics import forks_share, turn_values
from worker.training.update import Update

MOST_LABELS = 32
"""Maximum number of a reward's labels that get metrics: the most frequent."""

Values = dict[str, float | None]


def step_values(
    spec: JobSpec, batch: StepBatch, credit: Credit, update: Update, passes: Passes, slices: Slices
) -> Values:
    """Metrics of a step's completions and update; the loop adds times and totals."""
    values: Values = {}
    # Continuations of failed rollouts say nothing about what the policy does by itself.
    counted = batch.rows.independent
    rollouts = [batch.rollouts[row] for row in counted.nonzero()[:, 0].tolist()]
    values |= _rewards(credit.rewards[counted])
    lengths = batch.rows.lengths.double()
    values["reward/length_correlation"] = within_groups(
        credit.rewards[counted], lengths[counted], batch.rows.group[counted]
    )
    values |= per_reward(rollouts) | reward_spreads(rollouts)
    values |= turn_values(rollouts, passed(credit.rewards[counted], spec.evaluation.pass_above))
    if spec.environment.type == AGENT:
        values["rollout/forks_share"] = forks_share(rollouts)
    values |= _groups(replace(credit, keep=credit.keep & counted), batch.rows.group)
    values |= _lengths(batch.rows.lengths[counted], batch.rows.truncated[counted])
    mask = batch.rows.mask
    values["entropy/mean"] = _mean(update.scores.entropies[mask])
    values |= diagnostics(spec, batch, credit, update)
    gap = (update.scores.logprobs - batch.sampler_logprobs).abs()[mask & update.scored[:, None]]
    values["sampler/gap_mean"] = _mean(gap)
    values["sampler/gap_max"] = _finite(gap.max()) if len(gap) else None
    per_row = {
        "reward_mean": credit.rewards,
        "pass_share": passed(credit.rewards, spec.evaluation.pass_above),
        "length_mean": lengths,
    }
    if passes.reference is not None:
        distance = update.scores.logprobs - passes.reference
        estimate = k3(distance, torch.ones_like(distance))
        values["kl/mean"] = _mean(estimate[mask])
        per_row["kl_mean"] = batch.rows.row_mean(estimate)
    values |= slices.means(rollouts, {name: column[counted] for name, column in per_row.items()})
    travelled = update.metrics | credit.metrics
    values |= {key: (total / count if count else None) for key, (total, count) in travelled.items()}
    values |= _coefficients(spec.algorithm.loss.model_dump(), update.state)
    in_reward = spec.algorithm.shaping.model_dump().get("kl") or {}
    if in_reward.get("adaptive"):
        values["kl/coefficient"] = current_beta(in_reward, credit.state.get("reward_kl", {}))
    norms = update.grad_norms
    values["optimizer/grad_norm"] = sum(norms) / len(norms) if norms else None
    return {key: _finite(value) for key, value in values.items()}


@dataclass(frozen=True, slots=True)
class StepClock:
    started: float
    update_started: float
    finished: float


def running_values(
    position: Position, collected: Collected, clock: StepClock, learning_rate: float
) -> Values:
    """Totals since the start, and times of one completed step."""
    seconds = max(clock.finished - clock.started, 1e-9)
    rollouts = collected.rollouts
    tokens = sum(len(part.token_ids) for rollout in rollouts for part in rollout.conversations)
    return {
        "optimizer/learning_rate": learning_rate,
        "optimizer/updates": float(position.updates),
        "optimizer/skipped_updates": float(position.skipped_updates),
        "tokens/trained": float(position.tokens_trained),
        "throughput/completions_per_second": len(rollouts) / seconds,
        "throughput/tokens_per_second": tokens / seconds,
        "time/step": seconds,
        "time/generate": collected.generate_seconds,
        "time/score": collected.score_seconds,
        "time/update": clock.finished - clock.update_started,
        "memory/peak": peak_memory_gib(),
    }


def per_reward(rollouts: Sequence[Rollout], prefix: str = "reward") -> Values:
    """`reward/<name>/mean`, `reward/<name>/part/<part>`, shares of labels and of parts skipped by gates."""
    named_values: dict[str, list[float]] = {}
    labels = _label_shares(rollouts, prefix)
    for rollout in rollouts:
        for result in rollout.score.results if rollout.score else ():
            for key, value in _named(result, prefix):
                named_values.setdefault(key, []).append(value)
    return {key: sum(values) / len(values) for key, values in sorted(named_values.items())} | labels


def peak_memory_gib() -> float:
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() / 2**30
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def state_gib(policy: Policy, critic: Critic | None) -> float:
    return (policy.held_bytes + (critic.held_bytes if critic else 0)) / 2**30


def _named(result: RewardResult, prefix: str) -> list[tuple[str, float]]:
    if result.value is None:
        return []
    parts = [(f"{prefix}/{result.name}/part/{part}", value) for part, value in result.parts.items()]
    return [(f"{prefix}/{result.name}/mean", result.value), *parts]


def _label_shares(rollouts: Sequence[Rollout], prefix: str) -> Values:
    counts: dict[str, Counter[str]] = {}
    spared: dict[str, int] = {}
    scored: Counter[str] = Counter()
    for rollout in rollouts:
        for result in rollout.score.results if rollout.score else ():
            scored[result.name] += 1
            for part, label in result.labels.items():
                where = f"{prefix}/{result.name}/part/{part}" if part else f"{prefix}/{result.name}"
                counts.setdefault(where, Counter())[label] += 1
            for part, status in result.part_status.items():
                key = f"{prefix}/{result.name}/part/{part}/spared"
                spared[key] = spared.get(key, 0) + (status == "not_applicable")
    shares: Values = {
        f"{where}/label/{label}": count / counter.total()
        for where, counter in counts.items()
        for label, count in counter.most_common(MOST_LABELS)
    }
    return shares | {key: count / scored[key.split("/")[1]] for key, count in spared.items() if count}


def _rewards(rewards: Tensor) -> Values:
    scored = rewards[~rewards.isnan()]
    values: Values = {"reward/error_share": 1 - len(scored) / max(1, len(rewards))}
    if not len(scored):
        return values | dict.fromkeys(("reward/mean", "reward/std", "reward/p10", "reward/p90"))
    values["reward/mean"] = float(scored.mean())
    values["reward/std"] = float(scored.std()) if len(scored) > 1 else 0.0
    values["reward/p10"], values["reward/p90"] = scored.quantile(torch.tensor([0.1, 0.9]).double()).tolist()
    return values


def _groups(credit: Credit, group: Tensor) -> Values:
    stats = group_statistics(credit.compared, group, credit.keep)
    numbers = group[credit.keep]
    first = {
        int(number): row for row, number in zip(credit.keep.nonzero()[:, 0].tolist(), numbers, strict=True)
    }
    rows = list(first.values())
    if not rows:
        names = ("zero_variance_share", "all_right_share", "all_wrong_share")
        return {f"groups/{name}": None for name in names}
    rewards = group_statistics(credit.rewards, group, credit.keep)
    uniform, right = stats.uniform[rows], rewards.mean[rows] > 0
    return {
        "groups/zero_variance_share": float(uniform.double().mean()),
        "groups/all_right_share": float((uniform & right).double().mean()),
        "groups/all_wrong_share": float((uniform & ~right).double().mean()),
    }


def _lengths(lengths: Tensor, truncated: Tensor) -> Values:
    return {
        "completions/length_mean": float(lengths.double().mean()),
        "completions/length_p90": float(lengths.double().quantile(0.9)),
        "completions/truncated_share": float(truncated.double().mean()),
    }


def _coefficients(loss: dict[str, Any], state: State) -> Values:
    values: Values = {f"loss/{name}": value for name, value in state.get("parameters", {}).items()}
    if loss["entropy"]["type"] == "adaptive":
        values["entropy/coefficient"] = coefficient(loss["entropy"], state.get("entropy", {}))
    if loss["kl"].get("adaptive"):
        values["kl/coefficient"] = current_beta(loss["kl"], state.get("kl", {}))
    return values


def _mean(values: Tensor) -> float | None:
    return float(values.double().mean()) if len(values) else None


def _finite(value: float | Tensor | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)
