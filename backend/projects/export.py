"""A project's data as a tar that is written while it is sent.

    project.json
    datasets/<id>/dataset.json, data.<format>
    rewards/<id>/reward.json, revision-<n>.py|json, golden-cases.jsonl
    judges.json                                             connections, never their keys
    jobs/<id>/job.json, metrics.jsonl, findings.jsonl
    adapters/<id>/adapter.json, adapter.tar
    missing.json                                            files that the object store no longer had

What is written is named here field by field, so that a new secret column is not exported by being there.
"""

import json
from collections.abc import AsyncIterator
from typing import Any

import anyio.to_thread
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.database import Database
from backend.models import (
    Adapter,
    Base,
    Dataset,
    FindingRow,
    GoldenCaseRow,
    Job,
    JobReward,
    JudgeRow,
    MetricPoint,
    MetricSeries,
    Project,
    Reward,
    RewardRevision,
)
from backend.objects import CHUNK, Objects
from backend.tar_stream import END, entry, header, padding
from reinforge.storage import ObjectNotFound

_DATASET = ("id", "name", "filename", "format", "bytes", "rows", "sha256", "columns", "created_at")
_REWARD = (
    "id",
    "name",
    "description",
    "granularity",
    "kind",
    "revision",
    "entry",
    "created_by",
    "created_at",
)
_REVISION = ("revision", "kind", "sha256", "entry", "created_at")
_CASE = ("id", "item", "prompt", "completion", "expect", "note", "origin", "created_by", "created_at")
_JUDGE = ("name", "base_url", "model", "input_price", "output_price", "structured", "concurrency")
_JOB = (
    "id", "name", "purpose", "status", "reason", "error", "spec", "resolved_spec", "model_id", "model_sha256",
    "dataset_id", "held_out_dataset_id", "facts", "step", "held_out_reward_before", "held_out_reward", "best_step",
    "created_by", "created_at", "started_at", "finished_at",
)  # fmt: skip
_JOB_REWARD = ("name", "kind", "reward_id", "revision", "source", "sha256")
_FINDING = ("code", "severity", "step", "message", "hint", "evidence", "ts")
_ADAPTER = ("id", "name", "job_id", "step", "model_id", "sha256", "bytes", "held_out_reward", "created_at")


async def archive(database: Database, objects: Objects, project_id: str) -> AsyncIterator[bytes]:
    """The pieces of the archive; each thing is read in a short transaction of its own."""
    missing: list[str] = []
    async with database.transaction() as session:
        project = await session.get_one(Project, project_id)
        yield entry("project.json", _json(project, ("id", "name", "created_at")))
        judges = await session.scalars(select(JudgeRow).where(JudgeRow.project_id == project_id))
        yield entry("judges.json", _dumped([_fields(each, _JUDGE) for each in judges]))
        datasets = await _all(session, Dataset, project_id)
        rewards = await _all(session, Reward, project_id)
        jobs = await _all(session, Job, project_id)
        adapters = await _all(session, Adapter, project_id)
    for dataset in datasets:
        yield entry(f"datasets/{dataset.id}/dataset.json", _json(dataset, _DATASET))
        name = f"datasets/{dataset.id}/data.{dataset.format}"
        async for piece in _object(objects, name, dataset.sha256, dataset.bytes, missing):
            yield piece
    for reward in rewards:
        async with database.transaction() as session:
            yield await _reward(session, reward)
    for job in jobs:
        async with database.transaction() as session:
            yield await _job(session, job)
    for adapter in adapters:
        yield entry(f"adapters/{adapter.id}/adapter.json", _json(adapter, _ADAPTER))
        name = f"adapters/{adapter.id}/adapter.tar"
        async for piece in _object(objects, name, adapter.sha256, adapter.bytes, missing):
            yield piece
    if missing:
        yield entry("missing.json", _dumped(missing))
    yield END


async def _all(session: AsyncSession, table: Any, project_id: str) -> list[Any]:
    query = select(table).where(table.project_id == project_id).order_by(table.created_at, table.id)
    return list(await session.scalars(query))


async def _reward(session: AsyncSession, reward: Reward) -> bytes:
    folder = f"rewards/{reward.id}"
    query = select(RewardRevision).where(RewardRevision.reward_id == reward.id)
    revisions = list(await session.scalars(query.order_by(RewardRevision.revision)))
    whole = _fields(reward, _REWARD) | {"revisions": [_fields(each, _REVISION) for each in revisions]}
    packed = entry(f"{folder}/reward.json", _dumped(whole))
    for each in revisions:
        ending = "py" if each.kind == "python" else "json"
        packed += entry(f"{folder}/revision-{each.revision}.{ending}", each.source.encode())
    cases = await session.scalars(
        select(GoldenCaseRow).where(GoldenCaseRow.reward_id == reward.id).order_by(GoldenCaseRow.created_at)
    )
    return packed + entry(f"{folder}/golden-cases.jsonl", _lines([_fields(each, _CASE) for each in cases]))


async def _job(session: AsyncSession, job: Job) -> bytes:
    folder = f"jobs/{job.id}"
    rewards = await session.scalars(
        select(JobReward).where(JobReward.job_id == job.id).order_by(JobReward.position)
    )
    whole = _fields(job, _JOB) | {"rewards": [_fields(each, _JOB_REWARD) for each in rewards]}
    points = await session.execute(
        select(MetricSeries.kind, MetricSeries.key, MetricPoint.step, MetricPoint.ts, MetricPoint.value)
        .join(MetricPoint, MetricPoint.series_id == MetricSeries.id)
        .where(MetricSeries.job_id == job.id)
        .order_by(MetricPoint.step, MetricSeries.kind, MetricSeries.key)
    )
    findings = await session.scalars(
        select(FindingRow).where(FindingRow.job_id == job.id).order_by(FindingRow.seq)
    )
    return (
        entry(f"{folder}/job.json", _dumped(whole))
        + entry(f"{folder}/metrics.jsonl", _lines([dict(row._mapping) for row in points]))
        + entry(f"{folder}/findings.jsonl", _lines([_fields(each, _FINDING) for each in findings]))
    )


async def _object(
    objects: Objects, name: str, sha256: str, size: int, missing: list[str]
) -> AsyncIterator[bytes]:
    try:
        async with objects.open(sha256) as file:
            yield header(name, size)
            while chunk := await anyio.to_thread.run_sync(file.read, CHUNK):
                yield chunk
            yield padding(size)
    except ObjectNotFound:
        missing.append(name)


def _fields(row: Base, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}


def _json(row: Base, names: tuple[str, ...]) -> bytes:
    return _dumped(_fields(row, names))


def _dumped(value: Any) -> bytes:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str).encode() + b"\n"


def _lines(values: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(each, ensure_ascii=False, default=str).encode() + b"\n" for each in values)
