"""Export of jobs to trackers by the background process.

An export's row has the cursor: the newest step that a tracker has accepted, so no step is lost or repeated.
"""

import asyncio
import logging
import random
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from backend.data.database import Database
from backend.data.sealing import Sealer
from backend.models import ExportRow, Job, TrackerRow, now
from backend.settings import Settings
from backend.trackers import mlflow, repository, wandb
from backend.trackers.batch import ExportBatch, ExportFailure, ExportResult, ExportSteps
from reinforge.errors import Unavailable
from reinforge.states import FINAL, JobStatus

log = logging.getLogger(__name__)

AT_ONCE = 4
ATTEMPT_SECONDS = 180.0
LEASE = timedelta(seconds=240)
"""Lease of an export attempt: longer than any attempt, so that no second one begins meanwhile."""
LOOK_SECONDS = 2.0
LIVE_SECONDS = 15.0
STEPS_AT_ONCE = 500
LONGEST_PAUSE_SECONDS = 3600.0
RETRIED_FOR = timedelta(hours=72)


def pause(tries: int) -> float:
    usual: float = min(LONGEST_PAUSE_SECONDS, 15.0 * 3.0 ** min(tries - 1, 20))
    return usual * random.uniform(0.8, 1.2)


class JobExports:
    def __init__(self, database: Database, sealer: Sealer, settings: Settings) -> None:
        self._database, self._sealer, self._settings = database, sealer, settings

    async def send_due(self) -> int:
        async with self._database.transaction() as session:
            rows = await repository.take_due(session, most=AT_ONCE, lease=LEASE)
            leases = {row.id: row.next_at for row in rows}
        attempts = (self._advance(id, lease) for id, lease in leases.items())
        # An unexpected error must not end the exports of other jobs: after its lease the attempt is repeated.
        results = await asyncio.gather(*attempts, return_exceptions=True)
        for id, result in zip(leases, results, strict=True):
            if isinstance(result, BaseException):
                log.error("the export %s failed", id, exc_info=result)
        return len(leases)

    async def _advance(self, id: str, lease: datetime) -> None:
        try:
            async with self._database.transaction() as session:
                batch = await self._batch(session, id)
            if batch is None:
                return
            result = await self._send(batch)
        except (ExportFailure, Unavailable) as error:
            message = error.message if isinstance(error, Unavailable) else str(error)
            await self._note_failure(id, lease, message)
        else:
            await self._note(id, lease, batch, result)

    async def _send(self, batch: ExportBatch) -> ExportResult:
        try:
            async with asyncio.timeout(ATTEMPT_SECONDS):
                if batch.kind == "mlflow":
                    return await mlflow.send(batch, self._settings.guard)
                folder = self._settings.home_folder / "wandb"
                is_offline = self._settings.wandb_mode == "offline"
                return await wandb.send(batch, self._settings.guard, folder, offline=is_offline)
        except TimeoutError as error:
            raise ExportFailure(f"The attempt took more than {ATTEMPT_SECONDS:g} s.") from error
        except OSError as error:
            raise ExportFailure(f"The server cannot export at present: {error.strerror or error}.") from error

    async def _batch(self, session: AsyncSession, id: str) -> ExportBatch | None:
        export = await session.get(ExportRow, id, with_for_update=True)
        if export is None or export.state not in repository.OPEN:
            return None
        job = await session.get_one(Job, export.job_id)
        tracker = await session.get_one(TrackerRow, export.tracker_id)
        is_final = JobStatus(job.status) in FINAL
        # The newest step may still get its held-out figures.
        complete = job.step if is_final else job.step - 1
        last = min(complete, export.step + STEPS_AT_ONCE)
        offline = tracker.kind == "wandb" and self._settings.wandb_mode == "offline"
        if (last <= export.step or offline) and not is_final:
            export.next_at = now() + timedelta(seconds=LIVE_SECONDS)
            return None
        if offline:
            last = complete  # W&B's files hold a whole run
        points = await repository.points(session, job.id, export.step, last)
        key = self._sealer.open(f"tracker:{tracker.id}", tracker.key_sealed) if tracker.key_sealed else None
        steps = [ExportSteps(step, ts, values) for step, (ts, values) in sorted(points.items())]
        return self._filled(export, job, tracker, key, steps, last, is_end=is_final and last == complete)

    def _filled(
        self,
        export: ExportRow,
        job: Job,
        tracker: TrackerRow,
        key: str | None,
        steps: list[ExportSteps],
        last: int,
        *,
        is_end: bool,
    ) -> ExportBatch:
        return ExportBatch(
            export_id=export.id,
            kind=tracker.kind,
            url=tracker.url,
            destination=tracker.destination,
            entity=tracker.entity,
            username=tracker.username,
            key=key,
            run_id=export.run_id,
            job_id=job.id,
            name=job.name,
            job_url=f"{self._settings.url.rstrip('/')}/jobs/{job.id}",
            notes=job.notes,
            tags=list(job.tags),
            started=(job.started_at or job.created_at).timestamp(),
            config=job.resolved_spec,
            steps=steps,
            last=last,
            first=export.step < 0,
            status=job.status if is_end else None,
            ended=(job.finished_at or now()).timestamp(),
            summary=_summary(job) if is_end else {},
        )

    async def _note(self, id: str, lease: datetime, batch: ExportBatch, result: ExportResult) -> None:
        async with self._database.transaction() as session:
            export = await _leased(session, id, lease)
            if export is None:
                return
            is_full = batch.last - export.step >= STEPS_AT_ONCE
            export.step = max(export.step, batch.last)
            export.run_id, export.run_url = result.run_id, result.run_url
            export.tries, export.error, export.updated_at = 0, None, now()
            export.next_at = now() + timedelta(seconds=0 if is_full else LIVE_SECONDS)
            export.state = "live" if batch.status is None else "done"

    async def _note_failure(self, id: str, lease: datetime, message: str) -> None:
        async with self._database.transaction() as session:
            export = await _leased(session, id, lease)
            if export is None:
                return
            if export.tries == 0:
                export.updated_at = now()  # retries count from here: a job may have been idle for days
            export.tries += 1
            export.error = message
            export.next_at = now() + timedelta(seconds=pause(export.tries))
            if export.updated_at + RETRIED_FOR < now():
                export.state = "failed"
            log.warning("the export %s of %s failed, trying again later: %s", id, export.job_id, message)


async def _leased(session: AsyncSession, id: str, lease: datetime) -> ExportRow | None:
    """Export; None if it was removed or restarted during the attempt."""
    export = await session.get(ExportRow, id, with_for_update=True)
    return export if export is not None and export.next_at == lease else None


def _summary(job: Job) -> dict[str, Any]:
    verdict = job.verdict or {}
    values = {
        "verdict": verdict.get("outcome"),
        "verdict_message": verdict.get("message"),
        "reason": job.reason,
        "held_out_reward_before": job.held_out_reward_before,
        "held_out_reward": job.held_out_reward,
        "best_step": job.best_step,
        "adapter": job.adapter_id,
    }
    return {key: value for key, value in values.items() if value is not None}
