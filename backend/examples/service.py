"""Start of examples as jobs. Their files go through the same services as a user's."""

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio.to_thread
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.datasets import service as datasets
from backend.datasets.uploads.inspection import inspect_file
from backend.jobs import service as jobs
from backend.jobs.submission.submit import Draft, Submission, SubmitServices, submit
from backend.models import Job
from backend.rewards import service as rewards
from reinforge.dataset.report import DatasetReport
from reinforge.errors import ReinforgeError, StateConflict
from reinforge.offline import examples
from reinforge.offline.examples import GalleryExample
from reinforge.schemas.examples import ExampleDetail, ExampleSummary
from reinforge.spec import JobSpec
from reinforge.states import JobStatus

_LOCK = 0x6578616D  # "exam": two that start one at once make one job
_MARKS = ("example_hash", "demo")
"""Keys of a job's `metadata` that may hold the hash of its example. The demo is an example, too."""


async def summaries(session: AsyncSession, project_id: str) -> list[ExampleSummary]:
    gallery = await anyio.to_thread.run_sync(_loaded)
    unfinished = await jobs.unfinished_by_metadata(session, project_id, _MARKS)
    return [
        one.summary.model_copy(update={"job": unfinished[one.hash].id if one.hash in unfinished else None})
        for one in gallery
    ]


async def detail(session: AsyncSession, project_id: str, name: str) -> ExampleDetail:
    example = examples.find(name)
    loaded = await anyio.to_thread.run_sync(lambda: (example.hash, example.detail)[1])
    job = await _unfinished(session, project_id, example)
    return loaded.model_copy(update={"job": None if job is None else job.id})


@dataclass
class StoredFiles:
    """Ids of the datasets and rewards that a start added; deleted if its job is refused."""

    datasets: list[str] = field(default_factory=list)
    rewards: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class RewardFile:
    source: str
    entries: list[dict[str, Any]]


class ExampleJob(Submission[tuple[Job, bool]]):
    def __init__(self, example: GalleryExample, draft: Draft, project_id: str, created_by: str) -> None:
        super().__init__(project_id, created_by)
        self._example = example
        self._draft = draft

    @property
    def model(self) -> str:
        return self._draft.spec.model

    async def draft(self, session: AsyncSession) -> Draft:
        return self._draft

    async def reserve(self, session: AsyncSession) -> tuple[Job, bool] | None:
        await session.execute(select(func.pg_advisory_xact_lock(_LOCK)))
        job = await _unfinished(session, self.project_id, self._example)
        return None if job is None else (job, False)

    async def answer(self, session: AsyncSession, job: Job) -> tuple[Job, bool]:
        return job, True


@dataclass(frozen=True)
class ExampleStarter:
    services: SubmitServices

    async def start(self, name: str, project_id: str, created_by: str) -> tuple[Job, bool]:
        """The example's job, and whether it is new. An unfinished job is reused, a paused job resumed."""
        example = examples.find(name)
        await anyio.to_thread.run_sync(lambda: example.hash)
        async with self.services.database.transaction() as session:
            job = await _unfinished(session, project_id, example)
            if job is not None:
                if job.status == JobStatus.PAUSED:
                    job = await jobs.resume(session, project_id, job.id, self.services.wake_ups)
                return job, False
        reward_files = await self._validated(example)
        reports = {path: await self._inspected(path, project_id) for path in example.data_files.values()}
        stored = StoredFiles()
        async with self.services.database.transaction() as session:
            spec = await _with_ids(session, example, reports, reward_files, project_id, created_by, stored)
        draft = Draft(spec, spec.model_dump(mode="json", exclude_unset=True), default_name=example.title)
        try:
            return await submit(self.services, ExampleJob(example, draft, project_id, created_by))
        except ReinforgeError:
            await self._take_back(project_id, stored)
            raise

    async def _validated(self, example: GalleryExample) -> dict[Path, RewardFile]:
        files = example.reward_files
        texts = [await anyio.to_thread.run_sync(path.read_text, "utf-8") for path in files]
        sources = [
            rewards.RewardSource(path.stem, text, None) for path, text in zip(files, texts, strict=True)
        ]
        entries, _ = await rewards.validate(self.services.calls, sources)
        return {path: RewardFile(text, one) for path, text, one in zip(files, texts, entries, strict=True)}

    async def _inspected(self, path: Path, project_id: str) -> DatasetReport:
        limit = self.services.settings.upload_limit_bytes
        report = await inspect_file(path, path.name, limit, project=project_id)
        await self.services.objects.keep_file(path, sha256=report.sha256, bytes=report.bytes, kind="dataset")
        return report

    async def _take_back(self, project_id: str, stored: StoredFiles) -> None:
        async with self.services.database.transaction() as session:
            for id in stored.datasets:
                with suppress(StateConflict):  # another job found it meanwhile
                    await datasets.delete(session, project_id, id)
            for id in stored.rewards:
                await rewards.delete_unused(session, project_id, id)


async def _with_ids(
    session: AsyncSession,
    example: GalleryExample,
    reports: dict[Path, DatasetReport],
    reward_files: dict[Path, RewardFile],
    project_id: str,
    created_by: str,
    stored: StoredFiles,
) -> JobSpec:
    await session.execute(select(func.pg_advisory_xact_lock(_LOCK)))
    raw = example.spec.model_dump(mode="json", exclude_unset=True)
    raw["metadata"] = {"example": example.name, _MARKS[0]: example.hash}
    for part, path in example.data_files.items():
        report, name = reports[path], f"{example.name} {path.stem}"
        dataset = await datasets.find_content(session, project_id, report.sha256, name)
        if dataset is None:
            dataset = await datasets.add(session, project_id, report, name, created_by)
            stored.datasets.append(dataset.id)
        raw["data"][part] = dataset.id
    for reward in raw["rewards"]:
        if "path" in reward:
            file = reward_files[Path(reward.pop("path"))]
            name = f"{example.name} {reward['name']}"
            id, revision, is_new = await rewards.keep_content(
                session, project_id, name, file.source, file.entries, created_by
            )
            reward |= {"reward": id, "revision": revision}
            if is_new:
                stored.rewards.append(id)
    return JobSpec.model_validate(raw)


async def _unfinished(session: AsyncSession, project_id: str, example: GalleryExample) -> Job | None:
    return (await jobs.unfinished_by_metadata(session, project_id, _MARKS)).get(example.hash)


def _loaded() -> list[GalleryExample]:
    gallery = examples.examples()
    for example in gallery:
        _ = example.summary, example.hash
    return gallery
