"""Starts the demo job. Its files go through the same services as a user's."""

import asyncio
import hashlib
import logging
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread
from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession

from backend.datasets import service as datasets
from backend.datasets.uploads.inspection import inspect_file
from backend.jobs import service as jobs
from backend.jobs.submission.submit import Draft, Submission, SubmitServices, submit
from backend.models import Job
from backend.rewards import service as rewards
from backend.settings import Settings
from reinforge.errors import ReinforgeError, Unavailable
from reinforge.offline import demo, jobfile
from reinforge.offline.examples import spec_hash
from reinforge.spec import JobSpec
from reinforge.states import JobStatus

log = logging.getLogger(__name__)

_LOCK = 0x64656D6F  # "demo": two that start it at once make one job
_AGAIN_SECONDS = 2.0


class DemoJob(Submission[tuple[Job, bool]]):
    def __init__(
        self, demo: "DemoStarter", draft: Draft, mark: str, project_id: str, created_by: str
    ) -> None:
        super().__init__(project_id, created_by)
        self._demo = demo
        self._draft = draft
        self._mark = mark

    @property
    def model(self) -> str:
        return self._draft.spec.model

    async def draft(self, session: AsyncSession) -> Draft:
        return self._draft

    async def reserve(self, session: AsyncSession) -> tuple[Job, bool] | None:
        await session.execute(select(func.pg_advisory_xact_lock(_LOCK)))
        job = await self._demo.find(session, self.project_id, self._mark)
        return None if job is None else (job, False)

    async def answer(self, session: AsyncSession, job: Job) -> tuple[Job, bool]:
        return job, True


@dataclass(frozen=True)
class DemoStarter:
    services: SubmitServices

    async def start(self, project_id: str, created_by: str) -> tuple[Job, bool]:
        """Returns the job and whether it is new. An unfinished or succeeded job with the same files is
        reused, and resumed if it is paused.
        """
        spec = await anyio.to_thread.run_sync(jobfile.load, demo.job_file())
        mark = await anyio.to_thread.run_sync(spec_hash, spec)
        async with self.services.database.transaction() as session:
            job = await self.find(session, project_id, mark)
        if job is not None:
            return job, False
        spec = await self._with_ids(spec, mark, project_id, created_by)
        draft = Draft(spec, spec.model_dump(mode="json", exclude_unset=True))
        return await submit(self.services, DemoJob(self, draft, mark, project_id, created_by))

    async def find(self, session: AsyncSession, project_id: str, mark: str) -> Job | None:
        job = await jobs.find_alive(session, project_id, "demo", mark)
        if job is not None and job.status == JobStatus.PAUSED:
            return await jobs.resume(session, project_id, job.id, self.services.wake_ups)
        return job

    async def _with_ids(self, spec: JobSpec, mark: str, project_id: str, created_by: str) -> JobSpec:
        raw = spec.model_dump(mode="json", exclude_unset=True)
        raw |= {"name": demo.NAME, "metadata": {"demo": mark}}
        for part in ("dataset", "held_out"):
            if raw["data"].get(part):
                raw["data"][part] = await self._keep_dataset(Path(raw["data"][part]), project_id, created_by)
        for reward in raw["rewards"]:
            reward["reward"] = await self._keep_reward(Path(reward.pop("path")), project_id, created_by)
        return JobSpec.model_validate(raw)

    async def _keep_dataset(self, path: Path, project_id: str, created_by: str) -> str:
        sha256 = hashlib.sha256(await anyio.to_thread.run_sync(path.read_bytes)).hexdigest()
        async with self.services.database.transaction() as session:
            existing = await datasets.find_content(session, project_id, sha256, path.name)
        if existing is not None:
            return existing.id
        report = await inspect_file(
            path, path.name, self.services.settings.upload_limit_bytes, project=project_id
        )
        await self.services.objects.keep_file(path, sha256=report.sha256, bytes=report.bytes, kind="dataset")
        async with self.services.database.transaction() as session:
            return (await datasets.add(session, project_id, report, path.name, created_by)).id

    async def _keep_reward(self, path: Path, project_id: str, created_by: str) -> str:
        source = await anyio.to_thread.run_sync(path.read_text, "utf-8")
        [entries], _ = await rewards.validate(
            self.services.calls, [rewards.RewardSource(path.stem, source, None)]
        )
        async with self.services.database.transaction() as session:
            return (await rewards.keep(session, project_id, path.stem, source, entries, created_by)).id


def notice(home: Path) -> Path:
    return home / "first-demo"


async def should_start(
    session: AsyncSession, project_id: str, settings: Settings, *, first_demo: bool
) -> bool:
    path = notice(settings.home_folder)
    if first_demo and not await jobs.any_job(session, project_id):
        await anyio.to_thread.run_sync(path.touch)
        return True
    await anyio.to_thread.run_sync(lambda: path.unlink(missing_ok=True))
    return False


async def start_first(starter: DemoStarter, project_id: str) -> None:
    """Start the demo once workers are online, unless the project has a job by then."""
    while True:
        try:
            async with starter.services.database.transaction() as session:
                if await jobs.any_job(session, project_id):
                    return
            job, _ = await starter.start(project_id, "reinforge up")
            log.info("started the demo job %s", job.id)
            return
        except (Unavailable, SQLAlchemyError) as error:
            log.debug("the demo job cannot start yet, trying again: %s", error)
        except ReinforgeError as error:
            log.warning("the demo job cannot start: %s", error.message)
            return
        await asyncio.sleep(_AGAIN_SECONDS)
