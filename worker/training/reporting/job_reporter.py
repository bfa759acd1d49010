"""Reports of a job as records: phases, steps, evaluations, checkpoints, log lines."""

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from reinforge.records import (
    CheckpointSaved,
    Command,
    CommandApplied,
    CompletionSummary,
    Evaluated,
    Finding,
    LogLine,
    Phase,
    ResumeStateSaved,
    Rollouts,
    StepMetrics,
)
from worker.environment.base import Prompt
from worker.policy.base import Critic, Policy
from worker.rollout.collect import PROGRESS_ROWS, ProgressCallback, Rollout
from worker.trainer.reporter import Reporter
from worker.training.batch import StepBatch
from worker.training.checkpoint.archive import pack_folder
from worker.training.checkpoint.resume_state import Position, pack_resume_state
from worker.training.credit import Credit
from worker.training.evaluation.held_out import HeldOutResult
from worker.training.reporting.metrics import Values
from worker.training.reporting.prompt_heads import PromptHeads
from worker.training.reporting.rollout_table import Pieces, TrainerScores, completion_summaries, to_parquet
from worker.training.update import Update

PhaseName = Literal["loading", "starting_engine", "evaluating", "generating", "scoring", "updating", "saving"]
PHASE_SECONDS = 0.5
KEEP_ALIVE_SECONDS = 5.0


class JobReporter:
    def __init__(
        self,
        reporter: Reporter,
        pieces: Pieces,
        *,
        model: str,
        revisions: Callable[[], dict[str, str]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reporter = reporter
        self._pieces = pieces
        self._model = model
        self._revisions = revisions
        self._clock = clock
        self._prompt_heads = PromptHeads()
        self._phase: PhaseName | None = None
        self._reported: dict[str, Any] = {}
        self._reported_at = 0.0
        self._pending: dict[str, Any] | None = None

    def phase(
        self,
        phase: PhaseName,
        step: int,
        done: int | None = None,
        total: int | None = None,
        rows: Sequence[int] = (),
    ) -> None:
        now = self._clock()
        fields = {"phase": phase, "step": step, "done": done, "total": total, "rows": list(rows)}
        if phase != self._phase or now - self._reported_at >= PHASE_SECONDS:
            self._phase = phase
            self._report(fields)
        else:
            self._report_later(fields, self._reported_at + PHASE_SECONDS - now)

    def _report(self, fields: dict[str, Any]) -> None:
        self._reported_at, self._reported, self._pending = self._clock(), fields, None
        self._reporter.report(Phase, **fields)

    def _report_later(self, fields: dict[str, Any], seconds: float) -> None:
        """Report after `seconds` unless newer progress comes first. If the job hangs, its last report names
        the current rows.
        """
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # without an event loop the next call of the same caller reports it
        if self._pending is None:
            loop.call_later(seconds, self._report_pending)
        self._pending = fields

    def _report_pending(self) -> None:
        if self._pending is not None:
            self._report(self._pending)

    def heartbeat(self) -> None:
        """Report that the phase is still running; may be called at any rate."""
        if self._phase is not None and self._clock() - self._reported_at >= KEEP_ALIVE_SECONDS:
            self._reported_at = self._clock()
            self._reporter.report(Phase, **self._reported)

    def sampling(self, step: int, prompts: Sequence[Prompt]) -> ProgressCallback:
        """The callback's first report names the first prompts."""
        unscored = 0, first_rows(prompts)

        def progress(phase: str, done: int, total: int, rows: list[int]) -> None:
            nonlocal unscored
            if phase == "scoring":
                unscored = done, rows
            # Groups are scored while others are sampled: scoring is the phase only once sampling is over.
            if phase == "generating" and done < total:
                self.phase("generating", step, done, total, rows)
            elif self._phase != "generating" or done == total:
                self.phase("scoring", step, unscored[0], total, unscored[1])

        self.phase("generating", step, 0, len(prompts), first_rows(prompts))
        return progress

    def evaluating(self, step: int, prompts: Sequence[Prompt]) -> ProgressCallback:
        unscored = 0, first_rows(prompts)

        def progress(phase: str, done: int, total: int, rows: list[int]) -> None:
            nonlocal unscored
            if phase == "scoring":
                unscored = done, rows
            if phase == "generating" and done == total:
                done, rows = unscored
            if done < total:
                self.phase("evaluating", step, done, total, rows)

        self.phase("evaluating", step, 0, len(prompts), first_rows(prompts))
        return progress

    def step(self, step: int, values: Values, batch: StepBatch, credit: Credit, done: Update) -> None:
        """Metrics come last: a step with metrics is complete."""
        self.completions(step, batch, credit, done)
        if done.skipped:
            self._gradient_not_finite(step, done.skipped)
        self._reporter.report(StepMetrics, step=step, values=values)
        self._reporter.metrics(step, "train", values)

    def completions(self, step: int, batch: StepBatch, credit: Credit, done: Update | None) -> None:
        rewards = [None if value != value else value for value in credit.rewards.tolist()]
        per_token = credit.advantages
        per_row = per_token if per_token.dim() == 1 else batch.rows.row_mean(per_token)
        advantages = [
            value if keep else None
            for value, keep in zip(per_row.tolist(), credit.keep.tolist(), strict=True)
        ]
        summaries = completion_summaries(batch.rollouts, rewards, advantages)
        row_scores = None if done is None else TrainerScores(done.scores, done.scored)
        self._rollouts(step, "train", batch.rollouts, summaries, row_scores)

    def evaluation(self, step: int, evaluation: HeldOutResult, samples: int) -> None:
        self._rollouts(step, "held_out", evaluation.collected.rollouts, evaluation.summaries, None)
        self._reporter.report(
            Evaluated, step=step, values=evaluation.values, rows=evaluation.rows, samples_per_row=samples
        )
        self._reporter.metrics(step, "held_out", evaluation.values)
        reward = evaluation.reward
        result = "no completion could be scored" if reward is None else f"reward {reward:.3f}"
        length = evaluation.values["held_out/length_mean"]
        self.log("info", f"Held-out rows after step {step}: {result}, {length:.1f} tokens on average", step)

    def checkpoint(self, position: Position, policy: Policy, *, final: bool) -> None:
        step = position.step
        self.phase("saving", step)
        with tempfile.TemporaryDirectory(prefix="adapter-", dir=self._reporter.folder) as folder:
            policy.export(Path(folder), base_model=self._model)
            self.heartbeat()
            blob = self._reporter.blob(pack_folder(Path(folder)))
        reward = position.held_out_reward if position.evaluated_step == step else None
        self._reporter.report(CheckpointSaved, step=step, blob=blob, held_out_reward=reward, final=final)
        position.checkpoint_step = step

    def resume_state(self, position: Position, policy: Policy, critic: Critic | None = None) -> None:
        self.phase("saving", position.step)
        state = pack_resume_state(position, policy.state(), critic.state() if critic else None)
        self.heartbeat()
        blob = self._reporter.blob(state)
        self._reporter.report(ResumeStateSaved, step=position.step, blob=blob)

    def commands_done(self, commands: Iterable[Command], step: int) -> None:
        for command in commands:
            if command.kind == "checkpoint":
                self._reporter.report(CommandApplied, command=command.id, step=step)

    def log(self, level: Literal["info", "warning", "error"], message: str, step: int | None = None) -> None:
        self._reporter.report(LogLine, level=level, message=message, step=step)

    def _gradient_not_finite(self, step: int, skipped: int) -> None:
        self._reporter.report(
            Finding,
            code="gradient_not_finite",
            severity="warning",
            step=step,
            message=f"{skipped} of this step's updates had a gradient that is not finite and were left out.",
            hint="Once in a while this is harmless. If it repeats, lower optimizer.learning_rate.",
            evidence={"skipped_updates": skipped},
        )

    def _rollouts(
        self,
        step: int,
        split: Literal["train", "held_out"],
        rollouts: list[Rollout],
        summaries: list[CompletionSummary],
        row_scores: TrainerScores | None,
    ) -> None:
        blob = self._reporter.blob(to_parquet(rollouts, summaries, row_scores, self._pieces))
        self._reporter.report(
            Rollouts,
            step=step,
            split=split,
            blob=blob,
            rows=summaries,
            revisions=self._revisions(),
            prompts=self._prompt_heads.new(split, (rollout.prompt for rollout in rollouts)),
        )


def first_rows(prompts: Sequence[Prompt]) -> list[int]:
    return [prompt.row_index for prompt in prompts[:PROGRESS_ROWS]]
