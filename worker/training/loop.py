"""The training loop, in the order of a step; it depends on protocols only.

Departures from the papers: log-probabilities are those of logits / temperature; in a step's first update the
old policy is the policy itself; a step without any gradient makes no update.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from reinforge.records import Command
from reinforge.spec import JobSpec
from worker.environment.base import Environment
from worker.policy.base import Critic, Policy
from worker.rewards.base import Scorer
from worker.rewards.circuit_breaker import Breaker
from worker.rollout.collect import Collector
from worker.rollout.conversations import CallTexts, Decode, GroupSampler, Round
from worker.rollout.engine import Interrupted, RolloutEngine, Sampling
from worker.rollout.noise import Stream
from worker.trainer.reporter import Reporter
from worker.training.ahead import StepCompletions
from worker.training.batch import StepBatch
from worker.training.changes import Changes
from worker.training.checkpoint.resume_state import (
    Position,
    checkpoint_due,
    refresh_due,
    refuse_if_not_finite,
)
from worker.training.credit import Credit, assign_credit
from worker.training.critic import update_critic
from worker.training.early_stop import ending, note_step
from worker.training.evaluation.during_training import HeldOutEvaluations
from worker.training.forward_passes import Passes, update_passes
from worker.training.prompts.data import JobPrompts
from worker.training.prompts.frontier import learned
from worker.training.reporting.job_reporter import JobReporter
from worker.training.reporting.metrics import StepClock, running_values, state_gib, step_values
from worker.training.rollback import undone_if_it_fails
from worker.training.sampling import SampledStep, StepSampler
from worker.training.schedule import learning_rate
from worker.training.update import Update, update


@dataclass(frozen=True, slots=True)
class TrainingOutcome:
    outcome: Literal["succeeded", "cancelled", "paused"]
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Models:
    policy: Policy
    critic: Critic | None = None


@dataclass(frozen=True, slots=True)
class RolloutSource:
    engine: RolloutEngine
    environment: Environment
    scorer: Scorer
    decode: Decode
    stop_ids: tuple[int, ...]
    call_texts: CallTexts | None = None
    sampler: GroupSampler | None = None
    """Samples groups in place of the engine and the environment."""

    def collector(self, reporter: Reporter) -> Collector:
        """Create a collector of completions that cancellation interrupts."""
        collector = Collector(
            self.engine, self.environment, self.scorer, self.decode, self.call_texts, self.sampler
        )
        reporter.on_cancel(collector.cancel)
        if self.sampler is not None:
            # It may wait for runners without end, and the next attempt repeats the step.
            reporter.on_pause(collector.cancel)
        return collector


@dataclass(frozen=True, slots=True)
class Control:
    reporter: Reporter
    job_reporter: JobReporter
    changes: Changes


async def train(
    spec: JobSpec,
    models: Models,
    rollouts: RolloutSource,
    prompts: JobPrompts,
    position: Position,
    control: Control,
) -> TrainingOutcome:
    """Train from `position`, updated in place. Errors leave position and weights at the last whole step."""
    policy, critic = models.policy, models.critic
    engine, scorer, decode = rollouts.engine, rollouts.scorer, rollouts.decode
    reporter, job_reporter, changes = control.reporter, control.job_reporter, control.changes
    sampling = _sampling(spec, rollouts.stop_ids)
    collector = rollouts.collector(reporter)
    breaker = Breaker(spec.limits.error_share, list(position.reward_errors))
    sampler = StepSampler(spec, policy, collector, scorer, prompts, job_reporter, breaker, decode)
    completions = StepCompletions(collector, scorer, prompts, job_reporter)
    slices = prompts.slices(spec.data.columns.slice)
    held_out_prompts = prompts.for_evaluation(spec.evaluation.rows)
    held_out = HeldOutEvaluations(collector, scorer, decode, held_out_prompts, slices, reporter, job_reporter)
    deadline = time.monotonic() + (spec.limits.max_seconds or float("inf"))
    await engine.publish(policy.name, position.step)
    try:
        while True:
            # ── Between two steps: obey commands, evaluate, save ──
            commands = reporter.commands()
            changes.ask(commands)
            if reporter.cancelling or _contain(commands, "pause"):
                return _stop(position, models, control, commands)
            out_of_time = time.monotonic() >= deadline
            if held_out.due(spec, position, last=ending(spec, position, out_of_time=out_of_time) is not None):
                await held_out.evaluate(spec, position, policy.name, sampling)
            end = ending(spec, position, out_of_time=out_of_time)
            _save_if_due(spec, position, models, job_reporter, commands, last=end is not None)
            if end is not None:
                return TrainingOutcome("succeeded", None if end == "steps_done" else end)

            # ── One step: sample, score, select; again where the selection asks for more ──
            step, started = position.step + 1, time.monotonic()
            spec = changes.apply(step, spec)
            sampler = replace(sampler, spec=spec)
            round = _round(spec, policy.name, position.step, sampling)
            collected = await completions.take(spec, round, position)
            sampled = await sampler.complete(collected, round, position)
            batch = sampled.batch

            # ── Assign credit, update; with `rollout.ahead` the next step is sampled meanwhile ──
            update_started = time.monotonic()
            job_reporter.phase("updating", step)
            await engine.rest()
            completions.begin(spec, round, position)
            rate = learning_rate(spec.optimizer, step, spec.limits.steps)
            passes, credit, step_update = await completions.beside(
                _train_step, spec, models, sampled, position, rate
            )
            ahead = await completions.finish()
            await engine.publish(policy.name, step)
            state = _algorithm_state(spec, prompts, position, batch, credit, step_update)
            errors, rewards = breaker.window, scorer.state()
            position.advance(step, step_update, algorithm=state, reward_errors=errors, rewards=rewards)
            position.ahead = ahead

            # ── Report ──
            clock = StepClock(started, update_started, time.monotonic())
            values = step_values(spec, batch, credit, step_update, passes, slices)
            values |= running_values(position, sampled.collected, clock, rate) | scorer.metrics()
            values["memory/state"] = state_gib(policy, critic)
            note_step(spec, position, values["groups/zero_variance_share"])
            job_reporter.step(step, values, batch, credit, step_update)
            refuse_if_not_finite(position)
    except Interrupted:
        return _stop(position, models, control, reporter.commands())
    finally:
        await completions.close()


def _sampling(spec: JobSpec, stop_ids: tuple[int, ...]) -> Sampling:
    rollout = spec.rollout
    stop = tuple(rollout.stop)
    return Sampling(rollout.max_completion_tokens, rollout.temperature, rollout.top_p, stop_ids, stop, True)


def _round(spec: JobSpec, policy: str, version: int, sampling: Sampling) -> Round:
    rollout = spec.rollout
    sampling = replace(sampling, temperature=rollout.temperature)
    group_size = rollout.completions_per_prompt
    return Round(policy, version, spec.seed, Stream.TRAIN, version + 1, group_size, sampling)


def _contain(commands: Sequence[Command], kind: str) -> bool:
    return any(command.kind == kind for command in commands)


def _train_step(
    spec: JobSpec, models: Models, sampled: SampledStep, position: Position, rate: float
) -> tuple[Passes, Credit, Update]:
    """After an error the weights are those of the last completed step."""
    batch = sampled.batch
    passes = update_passes(spec, models.policy, batch.sequences, sampled.passes, models.critic)
    credit = assign_credit(spec, sampled.choice, passes, metrics=sampled.metrics)
    with undone_if_it_fails(spec, models.policy, models.critic):
        state = position.algorithm.get("loss", {})
        step_update = update(spec, models.policy, batch, credit, passes, state, rate)
        if models.critic is not None:
            update_critic(spec, models.critic, batch, credit, passes, rate, step_update)
    if refresh_due(spec, position.step + 1):
        models.policy.refresh_reference(spec.algorithm.reference.mixup)
    return passes, credit, step_update


def _algorithm_state(
    spec: JobSpec,
    prompts: JobPrompts,
    position: Position,
    batch: StepBatch,
    credit: Credit,
    step_update: Update,
) -> dict[str, Any]:
    state: dict[str, Any] = credit.state | {"loss": step_update.state}
    if prompts.sampling == "frontier":
        state["frontier"] = learned(
            position.frontier,
            [rollout for rollout in batch.rollouts if rollout.source is None],
            credit.rewards[batch.rows.independent],
            spec.evaluation.pass_above,
        )
    return state


def _save_if_due(
    spec: JobSpec,
    position: Position,
    models: Models,
    job_reporter: JobReporter,
    commands: list[Command],
    *,
    last: bool,
) -> None:
    if checkpoint_due(spec, position, last=last, requested=_contain(commands, "checkpoint")):
        job_reporter.checkpoint(position, models.policy, final=last)
        if not last:
            job_reporter.resume_state(position, models.policy, models.critic)
    job_reporter.commands_done(commands, position.step)


def _stop(position: Position, models: Models, control: Control, commands: list[Command]) -> TrainingOutcome:
    if control.reporter.cancelling:
        return TrainingOutcome("cancelled", "cancel_requested")
    job_reporter = control.job_reporter
    requested = _contain(commands, "checkpoint")
    if requested and position.step > 0 and position.checkpoint_step != position.step:
        job_reporter.checkpoint(position, models.policy, final=False)
    job_reporter.resume_state(position, models.policy, models.critic)
    job_reporter.commands_done(commands, position.step)
    return TrainingOutcome("paused", "pause_requested")
