"""Rows of one step: sampled, scored, and sampled again while the selection requests it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from reinforge.errors import JobFailure
from reinforge.spec import JobSpec
from worker.algorithm import selection
from worker.environment.base import Prompt, Segment
from worker.policy.base import Policy
from worker.rewards.base import RewardsFailed, Scorer
from worker.rewards.circuit_breaker import Breaker
from worker.rollout.collect import Collected, Collector, Rollout, RolloutBranches, RolloutRepair
from worker.rollout.conversations import Decode, Round, without_end
from worker.training.batch import StepBatch, assemble
from worker.training.checkpoint.resume_state import Position
from worker.training.credit import StepSelection, choose, no_credit
from worker.training.forward_passes import Passes, has_reward_passes, reward_passes
from worker.training.prompts.data import JobPrompts
from worker.training.reporting.job_reporter import JobReporter


@dataclass(frozen=True, slots=True)
class SampledStep:
    batch: StepBatch
    collected: Collected
    choice: StepSelection
    passes: Passes
    metrics: dict[str, float]


@dataclass(frozen=True, slots=True)
class StepSampler:
    spec: JobSpec
    policy: Policy
    collector: Collector
    scorer: Scorer
    prompts: JobPrompts
    job_reporter: JobReporter
    breaker: Breaker
    decode: Decode

    async def complete(self, collected: Collected, sampling_round: Round, position: Position) -> SampledStep:
        """Complete a step: sample again as long as the selection requests it. Raises RewardsFailed,
        JobFailure, Interrupted.
        """
        step = sampling_round.noise_step
        rounds, metrics = 1, dict[str, float]()
        while True:
            batch = self._assembled(collected, sampling_round.sampling.temperature)
            if rounds == 1:
                self._check(step, batch, position)
            if has_reward_passes(self.spec):
                # Where there is another round, sampling wakes the engine.
                await self.collector.rest()
            passes = reward_passes(self.spec, self.policy, batch.sequences)
            choice = choose(self.spec, batch, passes, dict(position.algorithm), rounds=rounds)
            metrics |= choice.selected.metrics
            more = await self._again(choice, collected, sampling_round)
            if more is None:
                if self.spec.rollout.ahead:
                    metrics["sampler/staleness"] = staleness(collected, sampling_round)
                return SampledStep(batch, collected, choice, passes, metrics)
            collected = Collected(
                more.groups,
                collected.generate_seconds + more.generate_seconds,
                collected.score_seconds + more.score_seconds,
            )
            rounds += 1

    def _assembled(self, collected: Collected, temperature: float) -> StepBatch:
        batch = assemble(collected.groups, self.scorer, temperature, self.decode)
        aux = self.spec.algorithm.loss.aux
        if aux.type != "hierarchy":
            return batch
        return replace(batch, execute_token=self.prompts.renderer.plain_ids(aux.execute_token)[0])

    def _check(self, step: int, batch: StepBatch, position: Position) -> None:
        try:
            self.breaker.check(batch.scores)
        except RewardsFailed:
            position.ahead = None  # the next attempt scores again
            self.job_reporter.completions(step, batch, no_credit(batch), None)
            raise

    async def _again(
        self, choice: StepSelection, collected: Collected, sampling_round: Round
    ) -> Collected | None:
        requests = choice.selected.again
        repairs = [request for request in requests if isinstance(request, selection.Repair)]
        missing = sum(request.count for request in requests if isinstance(request, selection.Prompts))
        branches = [
            RolloutBranches(collected.rollouts[request.row], request.cut, request.count)
            for request in requests
            if isinstance(request, selection.Branch)
        ]
        if branches:
            sources = [branch.rollout.prompt for branch in branches]
            progress = self.job_reporter.sampling(sampling_round.noise_step, sources)
            return await self.collector.branch(collected.groups, branches, sampling_round, progress)
        if repairs:
            stop_ids = sampling_round.sampling.stop_ids
            planned = [
                self._repair(collected.rollouts[request.row], request, stop_ids) for request in repairs
            ]
            possible_repairs = [repair for repair in planned if repair is not None]
            if not possible_repairs:
                return None
            progress = self.job_reporter.sampling(
                sampling_round.noise_step, [repair.rollout.prompt for repair in possible_repairs]
            )
            return await self.collector.repair(collected.groups, possible_repairs, sampling_round, progress)
        if not missing:
            return None
        dealt = {rollout.prompt.row_index for rollout in collected.rollouts}
        prompts = self.prompts.further(sampling_round.noise_step, missing, dealt)
        if not prompts:
            return None
        later = replace(sampling_round, first_prompt=len(collected.groups))
        added = await self.collector.collect(
            prompts, later, self.job_reporter.sampling(sampling_round.noise_step, prompts)
        )
        return replace(added, groups=[*collected.groups, *added.groups])

    def _repair(
        self, rollout: Rollout, plan: selection.Repair, stop_ids: Sequence[int]
    ) -> RolloutRepair | None:
        ids = self.prompts.renderer.plain_ids
        if plan.solution:
            text = self._column(rollout.prompt, "solution", self.spec.data.columns.answer or "answer")
            segments: tuple[Segment, ...] = (Segment((*ids(text), *stop_ids[:1]), "template"),)
            room = self._room(rollout.prompt, segments)
            return RolloutRepair(rollout, segments, 0) if room >= 0 else None
        cue = plan.cue
        if plan.answer:
            answer = self._column(rollout.prompt, self.spec.data.columns.answer or "answer")
            cue += f"The answer is \\boxed{{{answer}}}.\n"
        segments = (*written(rollout, stop_ids), Segment(ids(cue), "template"))
        room = self._room(rollout.prompt, segments)
        return RolloutRepair(rollout, segments, min(plan.max_tokens, room)) if room > 0 else None

    def _room(self, prompt: Prompt, segments: Sequence[Segment]) -> int:
        context = self.prompts.max_tokens + self.spec.rollout.max_completion_tokens
        return context - len(prompt.token_ids) - sum(len(segment.token_ids) for segment in segments)

    def _column(self, prompt: Prompt, *names: str) -> str:
        values: list[Any] = [prompt.item[name] for name in names if prompt.item.get(name) is not None]
        if not values:
            raise JobFailure(
                f"Row {prompt.row_index + 1} has no column {' or '.join(names)}, which the selection puts in the "
                "place of wrong completions.",
                code="data_error",
                hint="Add the column, name it in data.columns.answer, or set the selection's cue_share to 1 and "
                "answer_share to 0.",
            )
        return str(values[0])


def staleness(collected: Collected, sampling_round: Round) -> float:
    """Number of steps by which the sampling policy is behind the round's, on average over completions."""
    return fmean(sampling_round.version - rollout.version for rollout in collected.rollouts)


def written(rollout: Rollout, stop_ids: Sequence[int]) -> tuple[Segment, ...]:
    *before, last = rollout.completion
    ids = tuple(without_end(last.token_ids, stop_ids))
    entropies = None if last.sampler_entropies is None else last.sampler_entropies[: len(ids)]
    return (*before, Segment(ids, last.by, last.sampler_logprobs[: len(ids)], entropies))
