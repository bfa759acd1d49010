"""Position of a job after a completed step, and its resume state: a tar of JSON and safetensors files, so
that loading runs no code.
"""

import dataclasses
import json
import tarfile
from dataclasses import dataclass, field
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save

from reinforge.errors import JobFailure
from reinforge.spec import JobSpec
from worker.policy.base import PolicyState
from worker.training.checkpoint.archive import pack, unpack
from worker.training.checkpoint.sampled_ahead import SampledAhead, pack_ahead, unpack_ahead
from worker.training.update import Update

FORMAT = 1
NOT_FINITE_STEPS = 3
"""Consecutive steps without a finite gradient that pause the job."""


@dataclass(slots=True)
class Position:
    step: int = 0
    updates: int = 0
    skipped_updates: int = 0
    not_finite_steps: int = 0
    tokens_trained: int = 0
    algorithm: dict[str, Any] = field(default_factory=dict)
    """State of the algorithm, as JSON values by part."""
    reward_errors: list[tuple[int, int]] = field(default_factory=list)
    rewards: dict[str, Any] = field(default_factory=dict)
    evaluated_step: int | None = None
    held_out_reward: float | None = None
    checkpoint_step: int | None = None
    best_held_out: float | None = None
    stale_evaluations: int = 0
    useless_groups: list[float] = field(default_factory=list)
    """Share of groups with equal rewards in each of the latest steps."""
    ahead: SampledAhead | None = None

    @property
    def frontier(self) -> dict[str, float]:
        rates: dict[str, float] = self.algorithm.get("frontier", {})
        return rates

    def advance(
        self,
        step: int,
        done: Update,
        *,
        algorithm: dict[str, Any],
        reward_errors: list[tuple[int, int]],
        rewards: dict[str, Any],
    ) -> None:
        self.step = step
        self.updates += len(done.grad_norms)
        self.skipped_updates += done.skipped
        if done.grad_norms:
            self.not_finite_steps = 0
        elif done.skipped:
            self.not_finite_steps += 1
        self.tokens_trained += done.tokens
        self.algorithm = algorithm
        self.reward_errors = reward_errors
        self.rewards = rewards
        self.ahead = None


def refuse_if_not_finite(position: Position) -> None:
    if position.not_finite_steps < NOT_FINITE_STEPS:
        return
    position.not_finite_steps = 0
    raise JobFailure(
        f"No update of the last {NOT_FINITE_STEPS} steps could be made: every gradient was infinite or not a number. "
        "The weights are those from before these steps.",
        code="gradient_not_finite",
        hint="Lower optimizer.learning_rate while the job is paused and resume the job, or fork it from an "
        "earlier step.",
        retryable=True,
    )


def evaluation_due(spec: JobSpec, position: Position, *, last: bool) -> bool:
    step, every = position.step, spec.evaluation.every_steps
    regular = position.evaluated_step is None or last or (every > 0 and step % every == 0)
    return regular and spec.evaluation.rows > 0 and position.evaluated_step != step


def checkpoint_due(spec: JobSpec, position: Position, *, last: bool, requested: bool) -> bool:
    step = position.step
    regular = step > 0 and (last or step % spec.limits.checkpoint_every == 0)
    return (regular or requested) and position.checkpoint_step != step


def refresh_due(spec: JobSpec, step: int) -> bool:
    every = spec.algorithm.reference.refresh_every
    return every > 0 and step % every == 0


def pack_resume_state(position: Position, policy: PolicyState, critic: PolicyState | None = None) -> bytes:
    fields = dataclasses.asdict(dataclasses.replace(position, ahead=None))
    del fields["ahead"]  # in files of its own
    body = {"format": FORMAT, "position": fields, "facts": policy.facts}
    files = {
        "adapter.safetensors": save(policy.adapter),
        "optimizer.safetensors": save(policy.optimizer),
    }
    if policy.reference:
        files["reference.safetensors"] = save(policy.reference)
    if critic is not None:
        body["critic_facts"] = critic.facts
        files["critic.safetensors"] = save(critic.adapter)
        files["critic_optimizer.safetensors"] = save(critic.optimizer)
    if position.ahead is not None:
        files |= pack_ahead(position.ahead)
    files["position.json"] = json.dumps(body, sort_keys=True, indent=1).encode()
    return pack(files)


def unpack_resume_state(content: bytes) -> tuple[Position, PolicyState, PolicyState | None]:
    try:
        files = unpack(content)
        body = json.loads(files["position.json"])
        if body["format"] != FORMAT:
            raise ValueError(f"format {body['format']} instead of {FORMAT}")
        fields = body["position"]
        fields["reward_errors"] = [(failed, rows) for failed, rows in fields["reward_errors"]]
        reference = files.get("reference.safetensors")
        state = PolicyState(
            load(files["adapter.safetensors"]),
            load(files["optimizer.safetensors"]),
            body["facts"],
            load(reference) if reference else {},
        )
        critic = None
        if "critic.safetensors" in files:
            weights, moments = files["critic.safetensors"], files["critic_optimizer.safetensors"]
            critic = PolicyState(load(weights), load(moments), body.get("critic_facts", {}))
        return Position(**fields, ahead=unpack_ahead(files)), state, critic
    except (tarfile.TarError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise JobFailure(
            f"The resume state cannot be read: {error}",
            code="resume_state_invalid",
            hint="Resume from an older state, or start the job again from its last checkpoint.",
        ) from error
