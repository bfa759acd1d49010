"""Controller of sweeps: plans their next actions, submits and ends jobs."""

import logging
import time
from dataclasses import replace

from anyio import to_thread
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession

from backend.data.database import Database
from backend.data.events import Hub
from backend.data.objects import Objects
from backend.jobs.lifecycle import transitions
from backend.jobs.submission.submit import Draft, Submission, SubmitServices, submit
from backend.models import Job, SweepRow, SweepTrialRow, now
from backend.rpc.client import Calls, Waiting
from backend.rpc.wake_ups import WakeUps
from backend.settings import Settings
from backend.sweeps import planner, repository, results
from backend.sweeps.repository import StoredTrial
from backend.sweeps.settings import next_setting
from backend.sweeps.validation import draft_of
from reinforge.errors import InvalidInput, NotFound, ReinforgeError
from reinforge.states import CANCELLABLE, JobStatus
from reinforge.sweeps import SweepSpec, Variation

log = logging.getLogger(__name__)

NO_JOB = ""
RETRY_SECONDS = 10.0


class SweepController:
    def __init__(self, database: Database, objects: Objects, wake_ups: WakeUps, settings: Settings) -> None:
        self._hub = Hub(database.conninfo)
        self._listening = False
        calls = Calls(database, self._hub, limits=Waiting(settings.project_calls, settings.project_samples))
        self._services = SubmitServices(database, calls, objects, settings, wake_ups)
        self._retry_at: dict[str, float] = {}

    async def tick(self) -> None:
        async with self._services.database.transaction() as session:
            ids = await repository.open_ids(session)
        self._retry_at = {id: moment for id, moment in self._retry_at.items() if id in ids}
        for id in ids:
            try:
                await self._plan(id)
                await self._submit_pending(id)
            except (SQLAlchemyError, ReinforgeError, OSError):
                log.exception("the sweep %s could not be advanced", id)

    async def close(self) -> None:
        await self._hub.stop()

    async def _plan(self, id: str) -> None:
        async with self._services.database.transaction() as session:
            sweep = await repository.lock_open(session, id)
            if sweep is None:
                return
            stored = (await repository.trials(session, [id]))[id]
            spec = SweepSpec.model_validate(sweep.spec)
            records = [results.record(trial, sweep.gpu_hour_price) for trial in stored]
            source = next_setting(spec, records)
            # In a thread: a sampler computes, and is imported at its first choice.
            plan = await to_thread.run_sync(planner.plan, spec, sweep.status, records, source)
            await _apply(session, sweep, stored, plan)

    async def _submit_pending(self, id: str) -> None:
        if self._retry_at.get(id, 0.0) > time.monotonic():
            return
        async with self._services.database.transaction() as session:
            sweep = await session.get(SweepRow, id)
            trials = await repository.pending(session, id)
        if sweep is None or sweep.status != "running":
            return
        for trial in trials:
            try:
                await self._submit(sweep, trial)
            except (InvalidInput, NotFound) as error:
                await self._refuse(trial, error)
            except ReinforgeError as error:  # no worker, budget of the project, too many calls
                self._retry_at[id] = time.monotonic() + RETRY_SECONDS
                await self._note(id, error.message)
                return
        if trials:
            await self._note(id, None)

    async def _submit(self, sweep: SweepRow, trial: SweepTrialRow) -> None:
        if not self._listening:
            await self._hub.start()
            self._listening = True
        calls = self._services.calls.of_project(sweep.project_id)
        job = await submit(replace(self._services, calls=calls), TrialSubmission(sweep, trial))
        if job != NO_JOB:
            log.info("submitted trial %d of %s as %s", trial.number, sweep.id, job)

    async def _refuse(self, trial: SweepTrialRow, error: ReinforgeError) -> None:
        async with self._services.database.transaction() as session:
            row = await repository.lock_trial(session, trial.sweep_id, trial.number)
            if row is not None:
                row.state = "refused"
                message = f"{error.param}: {error.message}" if error.param else error.message
                row.error = {"code": error.code, "message": message, "hint": error.hint}

    async def _note(self, id: str, notice: str | None) -> None:
        async with self._services.database.transaction() as session:
            row = await repository.lock_open(session, id)
            if row is not None and row.notice != notice:
                row.notice = notice


async def _apply(
    session: AsyncSession, sweep: SweepRow, stored: list[StoredTrial], plan: planner.Plan
) -> None:
    rows = {trial.row.number: trial for trial in stored}
    for number in plan.skip:
        rows[number].row.state = "skipped"
    for number, reason in plan.end.items():
        trial = rows[number]
        if trial.job is None:
            continue
        job = await transitions.lock_job(session, trial.job.id)
        if JobStatus(job.status) in CANCELLABLE:
            trial.row.ended_by = reason
            await transitions.cancel(session, job)
    session.add_all(_row(sweep.id, variation) for variation in plan.new)
    if plan.status is not None:
        sweep.status, sweep.reason, sweep.notice, sweep.finished_at = plan.status, plan.reason, None, now()
        log.info("the sweep %s has %s", sweep.id, plan.status)


def _row(sweep_id: str, variation: Variation) -> SweepTrialRow:
    return SweepTrialRow(
        sweep_id=sweep_id,
        number=variation.number,
        setting=variation.setting,
        name=variation.name,
        parameters=variation.parameters,
        seed=variation.seed,
        state="pending",
        created_at=now(),
    )


class TrialSubmission(Submission[str]):
    def __init__(self, sweep: SweepRow, trial: SweepTrialRow) -> None:
        super().__init__(sweep.project_id, sweep.created_by or "sweep")
        self._sweep_id, self._number = sweep.id, trial.number
        self._draft = draft_of(sweep, trial)
        self._trial: SweepTrialRow | None = None

    @property
    def model(self) -> str:
        return self._draft.spec.model

    async def draft(self, session: AsyncSession) -> Draft:
        return self._draft

    async def reserve(self, session: AsyncSession) -> str | None:
        self._trial = await repository.lock_trial(session, self._sweep_id, self._number)
        return NO_JOB if self._trial is None else None

    async def answer(self, session: AsyncSession, job: Job) -> str:
        assert self._trial is not None
        self._trial.state, self._trial.job_id = "submitted", job.id
        await session.flush()
        return job.id
