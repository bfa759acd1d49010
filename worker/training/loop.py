"""The training loop, on one page, in the order it happens. It knows protocols; `worker.trainer.main` names what
fills them.

Departures from the papers: log-probabilities are those of logits / temperature; in a step's first update the old
policy is the policy itself; a step in which no term of the loss has a gradient makes no update.
"""

import time
from dataclasses import dataclass, replace
from typing import Literal

from reinforge.records import Command
from reinforge.spec import JobSpec
from worker.environment.base import Environment
from worker.policy.base import Critic, Policy
from worker.rewards.base import Scorer
from worker.rewards.circuit_breaker import Breaker, refuse_if_all_failed
from worker.rollout.collect import Collector, Decode, Interrupted, Round
from worker.rollout.engine import RolloutEngine, Sampling
from worker.rollout.noise import Stream
from worker.trainer.reporter import Reporter
from worker.training.changes import Changes
from worker.training.checkpoint.resume_state import (
    Position,
    checkpoint_due,
    evaluation_due,
    refresh_due,
    refuse_if_not_finite,
)
from worker.training.credit import assign_credit
from worker.training.critic import update_critic
from worker.training.early_stop import ending, note_evaluation, note_step
from worker.training.evaluation.held_out import evaluate
from worker.training.forward_passes import update_passes
from worker.training.prompts.data import Prompts
from worker.training.prompts.frontier import learned
from worker.training.reporting.job_reporter import Journal
from worker.training.reporting.metrics import StepClock, running_values, state_gib, step_values
from worker.training.rollback import undone_if_it_fails
from worker.training.sampling import StepSampler
from worker.training.schedule import learning_rate
from worker.training.update import update


@dataclass(frozen=True, slots=True)
class Outcome:
    outcome: Literal["succeeded", "cancelled", "paused"]
    reason: str | None = None


async def train(
    spec: JobSpec,
    *,
    policy: Policy,
    engine: RolloutEngine,
    environment: Environment,
    scorer: Scorer,
    reporter: Reporter,
    journal: Journal,
    prompts: Prompts,
    decode: Decode,
    stop_ids: tuple[int, ...],
    position: Position,
    changes: Changes,
    critic: Critic | None = None,
) -> Outcome:
    """Train from `position` (kept up to date in place) to the end of the job, or until a command ends it.

    Raises JobFailure, and whatever the parts raise; `position` and the policy's weights are then those of the last
    completed step, unless the optimizer or the engine failed behind an update.
    """
    limits, rollout = spec.limits, spec.rollout
    sampling = Sampling(
        rollout.max_completion_tokens, rollout.temperature, rollout.top_p, stop_ids, tuple(rollout.stop), True
    )
    collector = Collector(engine, environment, scorer, decode)
    breaker = Breaker(limits.error_share, list(position.reward_errors))
    sampler = StepSampler(spec, policy, collector, scorer, prompts, journal, breaker, decode)
    held_out = prompts.for_evaluation(spec.evaluation.rows)
    slices = prompts.slices(spec.data.columns.slice)
    deadline = time.monotonic() + (limits.max_seconds or float("inf"))
    reporter.on_cancel(engine.cancel)
    await engine.publish(policy.name, position.step)
    try:
        while True:
            # ── Between two steps: look at the policy, keep it, obey ──
            commands = reporter.commands()
            asked = {command.kind for command in commands}
            changes.ask(commands)
            if reporter.cancelling:
                return Outcome("cancelled", "cancel_requested")
            if "pause" in asked:
                return _pause(position, journal, policy, critic, commands)
            out_of_time = time.monotonic() >= deadline
            last = ending(spec, position, out_of_time=out_of_time) is not None
            if held_out and evaluation_due(spec, position, last=last):
                reporter.on_pause(engine.cancel)
                found = await evaluate(
                    spec,
                    collector,
                    scorer,
                    held_out,
                    decode=decode,
                    slices=slices,
                    policy=policy.name,
                    version=position.step,
                    sampling=replace(sampling, temperature=spec.evaluation.temperature, entropies=False),
                    tell=journal.evaluating(position.step, held_out),
                )
                reporter.on_pause(None)
                journal.evaluation(position.step, found, spec.evaluation.samples_per_row)
                position.evaluated_step, position.held_out_reward = position.step, found.reward
                note_evaluation(spec, position, found.reward)
                refuse_if_all_failed(found.scores)
            end = ending(spec, position, out_of_time=out_of_time)
            last = end is not None
            if checkpoint_due(spec, position, last=last, asked="checkpoint" in asked):
                journal.checkpoint(position, policy, final=last)
                if not last:
                    journal.resume_state(position, policy, critic)
            journal.obeyed(commands, position.step)
            if last:
                return Outcome("succeeded", None if end == "steps_done" else end)

            # ── One step: sample, score, select; again where the selection asks for it ──
            step, started = position.step + 1, time.monotonic()
            spec = changes.apply(step, spec)
            sampler = replace(sampler, spec=spec)
            sampling = replace(sampling, temperature=spec.rollout.temperature)
            group_size = rollout.completions_per_prompt
            round = Round(policy.name, position.step, spec.seed, Stream.TRAIN, step, group_size, sampling)
            rates = position.algorithm.get("frontier", {})
            chosen = prompts.for_step(step, rollout.prompts_per_step, rates)
            sampled = await sampler.sample(chosen, round, position.algorithm)
            batch = sampled.batch

            # ── Give credit, update ──
            update_started = time.monotonic()
            journal.phase("updating", step)
            await engine.rest()
            passes = update_passes(spec, policy, batch.sequences, sampled.passes, critic)
            credit = assign_credit(spec, sampled.choice, passes, metrics=sampled.metrics)
            rate = learning_rate(spec.optimizer, step, limits.steps)
            with undone_if_it_fails(spec, policy, critic):
                done = update(spec, policy, batch, credit, passes, position.algorithm.get("loss", {}), rate)
                if critic is not None:
                    update_critic(spec, critic, batch, credit, passes, rate, done)
            if refresh_due(spec, step):
                policy.refresh_reference(spec.algorithm.reference.mixup)
            await engine.publish(policy.name, step)
            algorithm = credit.state | {"loss": done.state}
            if prompts.sampling == "frontier":
                algorithm["frontier"] = learned(
                    rates, batch.rollouts, credit.rewards, spec.evaluation.pass_above
                )
            errors, spent = breaker.window, scorer.state()
            position.advance(step, done, algorithm=algorithm, reward_errors=errors, rewards=spent)

            # ── Tell ──
            clock = StepClock(started, update_started, time.monotonic())
            values = step_values(spec, batch, credit, done, passes, slices)
            values |= running_values(position, sampled.collected, clock, rate) | scorer.metrics()
            values["memory/state"] = state_gib(policy, critic)
            note_step(spec, position, values["groups/zero_variance_share"])
            journal.step(step, values, batch, credit, done)
            refuse_if_not_finite(position)
    except Interrupted:
        if reporter.cancelling:
            return Outcome("cancelled", "cancel_requested")
        return _pause(position, journal, policy, critic, reporter.commands())


def _pause(
    position: Position, journal: Journal, policy: Policy, critic: Critic | None, commands: list[Command]
) -> Outcome:
    """Keep what there is after the last completed step; an evaluation that is due is the next attempt's."""
    asked = any(command.kind == "checkpoint" for command in commands)
    if asked and position.step > 0 and position.checkpoint_step != position.step:
        journal.checkpoint(position, policy, final=False)
    journal.resume_state(position, policy, critic)
    journal.obeyed(commands, position.step)
    return Outcome("paused", "pause_requested")
