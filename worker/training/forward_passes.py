"""Additional forward passes of a step, and the conditions for them."""

from dataclasses import dataclass, replace

from torch import Tensor

from reinforge.spec import JobSpec
from worker.algorithm import shaping
from worker.algorithm.loss.optimizer_batch import loss_reads
from worker.policy.base import Critic, Policy, TokenScores
from worker.training.rollout_sequences import RolloutSequences


@dataclass(frozen=True, slots=True)
class Passes:
    """Results of passes over N rows, each None if not needed. old: scores under the weights that sampled."""

    old: TokenScores | None = None
    reference: Tensor | None = None
    """Log-probabilities under the reference, (N, T) float32."""
    values: Tensor | None = None
    """Values by the critic, (N, T) float32."""


def reward_passes(spec: JobSpec, policy: Policy, sequences: RolloutSequences) -> Passes:
    return Passes(
        policy_scores(policy, sequences) if has_reward_passes(spec) else None,
        _reference_scores(policy, sequences) if _reads_reference(spec) else None,
    )


def policy_scores(policy: Policy, sequences: RolloutSequences) -> TokenScores:
    return sequences.joined_scores(policy.log_probs(sequences.sequences))


def _reference_scores(policy: Policy, sequences: RolloutSequences) -> Tensor:
    return sequences.joined(policy.reference_log_probs(sequences.sequences))


def has_reward_passes(spec: JobSpec) -> bool:
    return _reads_reference(spec) or spec.algorithm.selection.reads_old_policy


def _reads_reference(spec: JobSpec) -> bool:
    return shaping.reads_reference(spec.algorithm.shaping.model_dump())


def update_passes(
    spec: JobSpec,
    policy: Policy,
    sequences: RolloutSequences,
    passes: Passes,
    critic: Critic | None = None,
) -> Passes:
    if critic is not None:
        passes = replace(passes, values=sequences.joined(critic.values(sequences.sequences)))
    if passes.old is None and reads_old_policy(spec):
        passes = replace(passes, old=policy_scores(policy, sequences))
    if passes.reference is None and "reference_logprobs" in loss_reads(spec.algorithm.loss.model_dump()):
        passes = replace(passes, reference=_reference_scores(policy, sequences))
    return passes


def reads_old_policy(spec: JobSpec) -> bool:
    """Whether log-probabilities under the weights that sampled are needed; otherwise the policy itself is the
    old policy.
    """
    algorithm = spec.algorithm
    return (
        algorithm.updates_per_step > 1
        or algorithm.advantage.reads_old_policy
        or reads_policy_before_update(spec)
    )


def reads_policy_before_update(spec: JobSpec) -> bool:
    return not loss_reads(spec.algorithm.loss.model_dump()).isdisjoint({"entropies", "logprobs"})
