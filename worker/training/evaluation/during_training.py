"""Held-out evaluations of a job while it trains."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reinforge.spec import JobSpec
from worker.environment.base import Prompt
from worker.rewards.base import Scorer
from worker.rewards.circuit_breaker import refuse_if_all_failed
from worker.rollout.collect import Collector
from worker.rollout.conversations import Decode
from worker.rollout.engine import Sampling
from worker.trainer.reporter import Reporter
from worker.training.checkpoint.resume_state import Position, evaluation_due
from worker.training.early_stop import note_evaluation
from worker.training.evaluation.held_out import evaluate
from worker.training.reporting.job_reporter import JobReporter
from worker.training.reporting.slices import Slices


@dataclass(frozen=True, slots=True)
class HeldOutEvaluations:
    collector: Collector
    scorer: Scorer
    decode: Decode
    prompts: Sequence[Prompt]
    slices: Slices
    reporter: Reporter
    job_reporter: JobReporter

    def due(self, spec: JobSpec, position: Position, *, last: bool) -> bool:
        return bool(self.prompts) and evaluation_due(spec, position, last=last)

    async def evaluate(self, spec: JobSpec, position: Position, policy: str, sampling: Sampling) -> None:
        self.reporter.on_pause(self.collector.cancel)
        evaluation = await evaluate(
            spec,
            self.collector,
            self.scorer,
            self.prompts,
            decode=self.decode,
            slices=self.slices,
            policy=policy,
            version=position.step,
            sampling=replace(sampling, temperature=spec.evaluation.temperature, entropies=False),
            progress=self.job_reporter.evaluating(position.step, self.prompts),
        )
        self.reporter.on_pause(None)
        self.job_reporter.evaluation(position.step, evaluation, spec.evaluation.samples_per_row)
        position.evaluated_step, position.held_out_reward = position.step, evaluation.reward
        note_evaluation(spec, position, evaluation.reward)
        refuse_if_all_failed(evaluation.scores)
