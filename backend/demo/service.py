"""Demo job: its files go through the regular services; existing objects are reused."""

import asyncio
import hashlib
import logging
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread
from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession

from backend.base_models import service as base_models
from backend.data.database import Database
from backend.data.objects import Objects
from backend.datasets import service as datasets
from backend.datasets.uploads.inspection import inspect_file
from backend.jobs import service as jobs
from backend.jobs.submission import validate_references
from backend.jobs.submission.validate_on_worker import ask_workers
from backend.models import Job
from backend.rewards import service as rewards
from backend.rpc.client import Calls
from backend.rpc.wake_ups import WakeUps
from backend.settings import Settings
from reinforge.errors import ReinforgeError, Unavailable
from reinforge.offline import demo, jobfile
from reinforge.spec import JobSpec
from reinforge.states import JobStatus

log = logging.getLogger(__name__)

_LOCK = 0x64656D6F  # "demo": two that start it at once make one job
_AGAIN_SECONDS = 2.0


@dataclass(frozen=True)
class Demo:
    """Dependencies for creating a job outside its own request."""

    database: Database
    calls: Calls
    objects: Objects
    settings: Settings
    wake_ups: WakeUps

    async def start(self, project_id: str, created_by: str) -> tuple[Job, bool]:
        """The demo job, and whether it was created now; an unfinished or succeeded one of the same files is
        reused.

        A paused one is resumed. Raises Unavailable (`no_worker`, `sandbox_unavailable` …).
        """
        spec = await anyio.to_thread.run_sync(jobfile.load, demo.job_file())
        mark = await anyio.to_thread.run_sync(demo.spec_hash, spec)
        async with self.database.transaction() as session:
            existing = await self._find(session, project_id, mark)
        if existing is not None:
            return existing, False
        spec = await self._with_ids(spec, mark, project_id, created_by)
        await base_models.ensure_builtin(self.database, self.calls, spec.model)
        async with self.database.transaction() as session:
            plan = await validate_references.look_up(session, project_id, spec)
        await ask_workers(plan, self.calls, self.objects, jobs.dataset_cache(self.settings))
        raw_spec = spec.model_dump(mode="json", exclude_unset=True)
        async with self.database.transaction() as session:
            await session.execute(select(func.pg_advisory_xact_lock(_LOCK)))
            existing = await self._find(session, project_id, mark)
            if existing is not None:
                return existing, False
            await validate_references.look_up(session, project_id, spec)  # again: may be deleted meanwhile
            return await jobs.create(session, project_id, plan, raw_spec, created_by, self.wake_ups), True

    async def _find(self, session: AsyncSession, project_id: str, mark: str) -> Job | None:
        job = await jobs.find_alive(session, project_id, "demo", mark)
        if job is not None and job.status == JobStatus.PAUSED:
            return await jobs.resume(session, project_id, job.id, self.wake_ups)
        return job

    async def _with_ids(self, spec: JobSpec, mark: str, project_id: str, created_by: str) -> JobSpec:
        """The specification with ids in place of paths, its files stored."""
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
        async with self.database.transaction() as session:
            existing = await datasets.find_content(session, project_id, sha256, path.name)
        if existing is not None:
            return existing.id
        report = await inspect_file(path, path.name, self.settings.upload_limit_bytes)
        await self.objects.keep_file(path, sha256=report.sha256, bytes=report.bytes, kind="dataset")
        async with self.database.transaction() as session:
            return (await datasets.add(session, project_id, report, path.name, created_by)).id

    async def _keep_reward(self, path: Path, project_id: str, created_by: str) -> str:
        source = await anyio.to_thread.run_sync(path.read_text, "utf-8")
        [entries], _ = await rewards.validate(self.calls, [rewards.Source(path.stem, source, None)])
        async with self.database.transaction() as session:
            return (await rewards.keep(session, project_id, path.stem, source, entries, created_by)).id


def notice(home: Path) -> Path:
    """A marker file: the demo job starts automatically after start-up."""
    return home / "first-demo"


async def should_start(session: AsyncSession, project_id: str, settings: Settings) -> bool:
    """Whether to start the demo automatically: requested, and the project has never had a job. Records it."""
    path = notice(settings.home_folder)
    if settings.first_demo and not await jobs.any_job(session, project_id):
        await anyio.to_thread.run_sync(path.touch)
        return True
    await anyio.to_thread.run_sync(lambda: path.unlink(missing_ok=True))
    return False


async def start_first(starter: Demo, project_id: str) -> None:
    """Start the demo once workers are online, unless somebody has created a job meanwhile."""
    while True:
        try:
            async with starter.database.transaction() as session:
                if await jobs.any_job(session, project_id):
                    return
            job, _ = await starter.start(project_id, "reinforge up")
            log.info("the demo job %s starts by itself", job.id)
            return
        except (Unavailable, SQLAlchemyError) as error:
            log.debug("the demo waits: %s", error)
        except ReinforgeError as error:
            log.warning("the demo job cannot start: %s", error.message)
            return
        await asyncio.sleep(_AGAIN_SECONDS)
