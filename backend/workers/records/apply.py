"""Application of a trainer's records, under its job's row lock; the caller checks the attempt and the
sequence.
"""

import functools
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from backend.data.bulk import insert_many
from backend.data.ids import new_id
from backend.data.objects import require_uploaded
from backend.jobs.lifecycle import commands
from backend.jobs.lifecycle.best_checkpoint import rank_checkpoints
from backend.jobs.lifecycle.changes import mark_applied
from backend.jobs.lifecycle.transitions import append_event, change_status, wake_watchers
from backend.jobs.monitoring import training_checks
from backend.jobs.view import RECENT_STEPS, checkpoint_view
from backend.models import (
    Attempt,
    Checkpoint,
    Completion,
    Event,
    FindingRow,
    Job,
    LogLineRow,
    ResumeState,
    StepRollouts,
    now,
)
from backend.rpc.wake_ups import WakeUps
from backend.webhooks.events import queue_finding_event
from backend.workers.claim import HELD_OUT_REWARD
from backend.workers.ending import end_attempt
from backend.workers.records import prompt_draws
from backend.workers.records.held_out import includes_shaping
from backend.workers.records.metering import Meter
from backend.workers.records.metric_points import Points
from reinforge.records import (
    ChangeApplied,
    CheckpointSaved,
    CommandApplied,
    CompletionSummary,
    Ended,
    Evaluated,
    Finding,
    LogLine,
    Phase,
    Record,
    ResumeStateSaved,
    Rollouts,
    Started,
    StepMetrics,
)
from reinforge.states import JobStatus

RESUME_STATES_PER_JOB = 2
RESUME_STATES_TO_ROLL_BACK = 8
"""Number of resume states kept for a job that its diagnosis may roll back."""
_ROW = tuple(CompletionSummary.model_fields)
_EVENT = ("seq", "type", "data", "step", "count")


class Applier:
    def __init__(self, session: AsyncSession, job: Job, attempt: Attempt, wake_ups: WakeUps) -> None:
        self.session, self.job, self.attempt, self._wake_ups = session, job, attempt, wake_ups
        self._emit = functools.partial(append_event, session, job)
        self._points = Points(session, job.id)
        self._meter = Meter(session, job, attempt, self._points)
        self._events: list[dict[str, Any]] = []
        self._checked_step: int | None = job.step

    async def apply(self, record: Record) -> None:
        match record:
            case StepMetrics():
                await self._step_metrics(record)
            case Phase():
                self._phase(record)
            case Started():
                await self._started(record)
            case Rollouts():
                await self._rollouts(record)
            case Evaluated():
                await self._evaluated(record)
            case CheckpointSaved():
                await self._checkpoint(record)
            case ResumeStateSaved():
                await self._resume_state(record)
            case LogLine():
                await self._log(record)
            case Finding():
                await self._finding(record)
            case ChangeApplied():
                await mark_applied(self.session, self.job, record.change, record.step)
            case CommandApplied():
                await commands.mark_applied(self.session, self.job, record.command, record.step)
            case Ended():
                await self._points.store()  # the verdict and the training check read them
                await training_checks.refresh(self.session, job=self.job, emit=self._emit, ending=True)
                self._checked_step = self.job.step
                await end_attempt(self.session, self.job, self.attempt, record, self._wake_ups)

    async def finish(self) -> None:
        with self.session.no_autoflush:  # the job's row is written once, at the end
            await self._points.store()
            await self._meter.store()
            if self._events:
                common = {"job_id": self.job.id, "ts": now()}
                await insert_many(self.session, Event, _EVENT, self._events, same=common)
                await wake_watchers(self.session, self.job)
            before = self._checked_step
            if before is None or training_checks.is_due(before, self.job.step):
                await training_checks.refresh(self.session, self.job, self._emit)

    def _tell(self, type: str, data: dict[str, Any], step: int) -> None:
        self.job.seq += 1
        self._events.append({"seq": self.job.seq, "type": type, "data": data, "step": step, "count": 1})

    def _phase(self, record: Phase) -> None:
        job = self.job
        job.phase, job.phase_step = record.phase, record.step
        job.phase_done, job.phase_total = record.done, record.total
        data = record.model_dump(include={"phase", "step", "done", "total"})
        self._tell("phase", data, record.step)

    async def _started(self, record: Started) -> None:
        job = self.job
        job.step, job.steps, job.facts = record.step, record.steps, record.facts
        job.jail = record.facts.get("jail") or job.jail
        if job.status == JobStatus.STARTING:
            await change_status(self.session, job, JobStatus.RUNNING)

    async def _step_metrics(self, record: StepMetrics) -> None:
        columns = {key: [value] for key, value in record.values.items()}
        seconds = record.values.get("time/step")
        if seconds is not None:
            self.job.recent_step_seconds = [*self.job.recent_step_seconds, seconds][-RECENT_STEPS:]
        await self._meter.count_steps([record.step], columns)
        self._points.add("train", [record.step], [record.ts], columns)
        data = {"step": record.step, "kind": "train", "values": record.values, "ts": record.ts}
        self._tell("metrics", data, record.step)
        self.job.step = record.step

    async def _rollouts(self, record: Rollouts) -> None:
        where = {"job_id": self.job.id, "split": record.split, "step": record.step}
        table = insert(StepRollouts).values(
            **where,
            attempt=self.attempt.number,
            sha256=record.blob.sha256,
            count=len(record.rows),
            revisions=record.revisions,
        )
        with self.session.no_autoflush:
            await require_uploaded(self.session, self.job.id, record.blob.sha256)
            if await self.session.scalar(table.on_conflict_do_nothing().returning(StepRollouts.step)) is None:
                # Reported again: delete the earlier report with its completions.
                await self.session.execute(delete(StepRollouts).filter_by(**where))
                await self.session.execute(table)
            rows = [row.model_dump() for row in record.rows]
            await insert_many(self.session, Completion, _ROW, rows, same=where)
            await prompt_draws.store(self.session, self.job, record)
        self._meter.count_rollouts(record)
        data = {"step": record.step, "split": record.split, "count": len(record.rows)}
        self._tell("completions", data, record.step)

    async def _evaluated(self, record: Evaluated) -> None:
        job = self.job
        reward = record.values.get(HELD_OUT_REWARD)
        columns = {key: [value] for key, value in record.values.items()}
        self._points.add("held_out", [record.step], [record.ts], columns)
        data = {"step": record.step, "kind": "held_out", "values": record.values, "ts": record.ts}
        self._tell("metrics", data, record.step)
        self._checked_step = None
        if record.step == (job.forked_step or 0):
            job.held_out_reward_before = reward
        job.held_out_reward = reward
        if reward is not None and includes_shaping(job.resolved_spec, record):
            job.held_out_includes_shaping = True
        query = select(Checkpoint).where(Checkpoint.job_id == job.id, Checkpoint.step == record.step)
        checkpoint = await self.session.scalar(query)
        if checkpoint is not None and checkpoint.held_out_reward is None:
            checkpoint.held_out_reward = reward
            await rank_checkpoints(self.session, job)

    async def _checkpoint(self, record: CheckpointSaved) -> None:
        job = self.job
        await require_uploaded(self.session, self.job.id, record.blob.sha256)
        query = select(Checkpoint).where(Checkpoint.job_id == job.id, Checkpoint.step == record.step)
        checkpoint = await self.session.scalar(query)
        if checkpoint is None:
            checkpoint = Checkpoint(id=new_id("ftckpt_"), job_id=job.id, step=record.step, best=False)
            self.session.add(checkpoint)
        checkpoint.attempt = self.attempt.number
        checkpoint.sha256, checkpoint.bytes = record.blob.sha256, record.blob.bytes
        checkpoint.held_out_reward = (
            checkpoint.held_out_reward if record.held_out_reward is None else record.held_out_reward
        )
        checkpoint.final = record.final
        await rank_checkpoints(self.session, job)
        data = checkpoint_view(checkpoint, job).model_dump(mode="json")
        await self._emit("checkpoint", data, step=record.step)

    async def _resume_state(self, record: ResumeStateSaved) -> None:
        job = self.job
        await require_uploaded(self.session, self.job.id, record.blob.sha256)
        await self.session.merge(
            ResumeState(
                job_id=job.id,
                step=record.step,
                attempt=self.attempt.number,
                sha256=record.blob.sha256,
                bytes=record.blob.bytes,
            )
        )
        await self.session.flush()
        own_states = select(ResumeState.step).where(ResumeState.job_id == job.id)
        actions = (job.resolved_spec.get("diagnosis") or {}).get("on_finding") or {}
        count = RESUME_STATES_TO_ROLL_BACK if "roll_back" in actions.values() else RESUME_STATES_PER_JOB
        newest = own_states.order_by(ResumeState.step.desc()).limit(count)
        await self.session.execute(
            delete(ResumeState).where(ResumeState.job_id == job.id, ResumeState.step.not_in(newest))
        )
        job.lost_attempts = 0

    async def _log(self, record: LogLine) -> None:
        fields = {
            "ts": record.ts,
            "level": record.level,
            "message": record.message,
            "step": record.step,
            "attempt": self.attempt.number,
        }
        seq = await self._emit("log", {"seq": self.job.seq + 1, **fields})
        self.session.add(LogLineRow(job_id=self.job.id, seq=seq, **fields))

    async def _finding(self, record: Finding) -> None:
        fields = record.model_dump(include={"code", "severity", "step", "message", "hint", "evidence"})
        seq = await self._emit("finding", fields, step=record.step)
        same = select(FindingRow.seq).where(FindingRow.job_id == self.job.id, FindingRow.code == record.code)
        if await self.session.scalar(same.limit(1)) is None:
            await queue_finding_event(self.session, self.job, fields)
        self.session.add(FindingRow(job_id=self.job.id, seq=seq, ts=record.ts, **fields))
