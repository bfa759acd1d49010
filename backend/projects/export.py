"""Export of a project's data as a streamed tar. Fields are named one by one, so that no secret is exported."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.data.database import Database
from backend.data.objects import Objects
from backend.http.tar_stream import END, entry
from backend.models import (
    Adapter,
    BudgetRow,
    Checkpoint,
    Dataset,
    Deployment,
    EvaluationCompletion,
    EvaluationRow,
    Event,
    FindingRow,
    GoldenCaseRow,
    Job,
    JobChange,
    JobReward,
    JudgeRow,
    Label,
    LogLineRow,
    MetricPoint,
    MetricSeries,
    Project,
    Reward,
    RewardRevision,
    StepRollouts,
    StoredObject,
    UsageRow,
)
from backend.projects.export_pieces import Pieces, columns, few, fields, small

_DATASET = ("id", "name", "filename", "format", "bytes", "rows", "sha256", "columns", "skipped", "created_at")
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
    "dataset_id", "held_out_dataset_id", "start", "facts", "step", "held_out_reward_before", "held_out_reward",
    "held_out_includes_shaping", "best_step", "verdict", "created_by", "created_at", "started_at", "finished_at",
)  # fmt: skip
_JOB_REWARD = ("name", "kind", "reward_id", "revision", "source", "sha256")
_FINDING = ("code", "severity", "step", "message", "hint", "evidence", "ts")
_EVENT = ("seq", "count", "type", "data", "step", "ts")
_LOG = ("seq", "ts", "level", "message", "step", "attempt")
_CHANGE = ("id", "change", "created_by", "created_at", "applied_at", "applied_step")
_LABEL = ("split", "step", "prompt_no", "sample_no", "right", "created_by", "created_at")
_CHECKPOINT = ("id", "step", "sha256", "bytes", "held_out_reward", "best", "final", "created_at")
_EVALUATION = (
    "id", "job_id", "kind", "name", "params", "status", "done", "total", "result", "error", "created_by",
    "created_at", "finished_at",
)  # fmt: skip
_EVALUATED = ("row_no", "sample_no", "text", "tokens", "finish_reason", "result")
_DEPLOYMENT = (
    "id", "name", "model_id", "model_sha256", "job_id", "checkpoint_id", "adapter_id", "step", "sha256", "state",
    "requests", "failed_requests", "prompt_tokens", "completion_tokens", "created_by", "created_at", "last_used_at",
)  # fmt: skip
_USAGE = ("day", "kind", "source", "amount")
_ADAPTER = ("id", "name", "job_id", "step", "model_id", "sha256", "bytes", "held_out_reward", "created_at")


_TEXTS_AT_ONCE = 50


async def archive(
    database: Database, objects: Objects, folder: Path, project_id: str
) -> AsyncIterator[bytes]:
    pieces = Pieces(database, objects, folder)
    async with database.transaction() as session:
        project = await session.get_one(Project, project_id)
        judges = list(await session.scalars(select(JudgeRow).where(JudgeRow.project_id == project_id)))
    yield small("project.json", fields(project, ("id", "name", "created_at")))
    yield small("judges.json", [fields(judge, _JUDGE) for judge in judges])
    for table, part in (
        (Dataset, _dataset),
        (Reward, _reward),
        (Job, _job),
        (EvaluationRow, _evaluation),
        (Adapter, _adapter),
    ):
        for id in await _ids(database, table, project_id):
            async for piece in part(pieces, id):
                yield piece
    async for piece in _use(pieces, project_id):
        yield piece
    if pieces.missing:
        yield small("missing.json", pieces.missing)
    yield END


async def _ids(database: Database, table: Any, project_id: str) -> list[str]:
    query = select(table.id).where(table.project_id == project_id).order_by(table.created_at, table.id)
    async with database.transaction() as session:
        return list(await session.scalars(query))


async def _dataset(pieces: Pieces, id: str) -> AsyncIterator[bytes]:
    async with pieces.database.transaction() as session:
        row = await session.get(Dataset, id)
    if row is None:  # deleted meanwhile
        return
    yield small(f"datasets/{id}/dataset.json", fields(row, _DATASET))
    async for piece in pieces.object(f"datasets/{id}/data.{row.format}", row.sha256, row.bytes):
        yield piece


async def _reward(pieces: Pieces, id: str) -> AsyncIterator[bytes]:
    folder = f"rewards/{id}"
    async with pieces.database.transaction() as session:
        reward = await session.get(Reward, id)
        if reward is None:
            return
        query = select(RewardRevision).where(RewardRevision.reward_id == id)
        revisions = list(await session.scalars(query.order_by(RewardRevision.revision)))
        golden = select(GoldenCaseRow).where(GoldenCaseRow.reward_id == id)
        cases = list(await session.scalars(golden.order_by(GoldenCaseRow.created_at)))
    listed = [fields(revision, _REVISION) for revision in revisions]
    yield small(f"{folder}/reward.json", fields(reward, _REWARD) | {"revisions": listed})
    for revision in revisions:
        ending = "py" if revision.kind == "python" else "json"
        yield entry(f"{folder}/revision-{revision.revision}.{ending}", revision.source.encode())
    yield few(f"{folder}/golden-cases.jsonl", [fields(case, _CASE) for case in cases])


async def _job(pieces: Pieces, id: str) -> AsyncIterator[bytes]:
    folder = f"jobs/{id}"
    async with pieces.database.transaction() as session:
        job = await session.get(Job, id)
        if job is None:
            return
        rewards = await session.scalars(
            select(JobReward).where(JobReward.job_id == id).order_by(JobReward.position)
        )
        job_record = fields(job, _JOB) | {"rewards": [fields(reward, _JOB_REWARD) for reward in rewards]}
    yield small(f"{folder}/job.json", job_record)
    for name, query in _job_rows(id):
        async for piece in pieces.rows(f"{folder}/{name}.jsonl", query):
            yield piece
    async for piece in _files(pieces, folder, id):
        yield piece


def _job_rows(id: str) -> list[tuple[str, Select[Any]]]:
    points = (MetricSeries.kind, MetricSeries.key, MetricPoint.step, MetricPoint.ts, MetricPoint.value)
    metrics = select(*points).join(MetricPoint, MetricPoint.series_id == MetricSeries.id)
    in_order = (MetricPoint.step, MetricSeries.kind, MetricSeries.key)
    places = (Label.split, Label.step, Label.prompt_no, Label.sample_no)
    changed = (JobChange.created_at, JobChange.id)

    def of_job(table: Any, names: tuple[str, ...], *order: Any) -> Select[Any]:
        return select(*columns(table, names)).where(table.job_id == id).order_by(*order)

    return [
        ("metrics", metrics.where(MetricSeries.job_id == id).order_by(*in_order)),
        ("findings", of_job(FindingRow, _FINDING, FindingRow.seq)),
        ("changes", of_job(JobChange, _CHANGE, *changed)),
        ("events", of_job(Event, _EVENT, Event.seq)),
        ("log", of_job(LogLineRow, _LOG, LogLineRow.seq)),
        ("labels", of_job(Label, _LABEL, *places)),
    ]


async def _files(pieces: Pieces, folder: str, id: str) -> AsyncIterator[bytes]:
    async with pieces.database.transaction() as session:
        stored_checkpoints = await _checkpoints(session, id)
        rollouts = select(StepRollouts.split, StepRollouts.step, StepRollouts.sha256, StoredObject.bytes)
        rollouts = rollouts.join(StoredObject, StoredObject.sha256 == StepRollouts.sha256)
        rollouts = rollouts.where(StepRollouts.job_id == id).order_by(StepRollouts.split, StepRollouts.step)
        tables = (await session.execute(rollouts)).all()
    for split, step, sha256, size in tables:
        name = f"step-{step}.parquet" if split == "train" else f"{split}-step-{step}.parquet"
        async for piece in pieces.object(f"{folder}/rollouts/{name}", sha256, size):
            yield piece
    yield small(
        f"{folder}/checkpoints.json", [fields(checkpoint, _CHECKPOINT) for checkpoint in stored_checkpoints]
    )
    for checkpoint in stored_checkpoints:
        name = f"{folder}/checkpoints/step-{checkpoint.step}.tar"
        async for piece in pieces.object(name, checkpoint.sha256, checkpoint.bytes):
            yield piece


async def _checkpoints(session: AsyncSession, job_id: str) -> list[Checkpoint]:
    query = select(Checkpoint).where(Checkpoint.job_id == job_id).order_by(Checkpoint.step)
    return list(await session.scalars(query))


async def _evaluation(pieces: Pieces, id: str) -> AsyncIterator[bytes]:
    async with pieces.database.transaction() as session:
        row = await session.get(EvaluationRow, id)
    if row is None:
        return
    yield small(f"evaluations/{id}/evaluation.json", fields(row, _EVALUATION))
    if row.kind == "stand_alone":
        query = select(*columns(EvaluationCompletion, _EVALUATED))
        query = query.where(EvaluationCompletion.evaluation_id == id)
        query = query.order_by(EvaluationCompletion.row_no, EvaluationCompletion.sample_no)
        async for piece in pieces.rows(f"evaluations/{id}/completions.jsonl", query, _TEXTS_AT_ONCE):
            yield piece


async def _adapter(pieces: Pieces, id: str) -> AsyncIterator[bytes]:
    async with pieces.database.transaction() as session:
        row = await session.get(Adapter, id)
    if row is None:
        return
    yield small(f"adapters/{id}/adapter.json", fields(row, _ADAPTER))
    async for piece in pieces.object(f"adapters/{id}/adapter.tar", row.sha256, row.bytes):
        yield piece


async def _use(pieces: Pieces, project_id: str) -> AsyncIterator[bytes]:
    async with pieces.database.transaction() as session:
        query = select(Deployment).where(Deployment.project_id == project_id)
        deployments = list(await session.scalars(query.order_by(Deployment.created_at, Deployment.id)))
        allowed = select(BudgetRow).where(BudgetRow.project_id == project_id)
        budgets = list(await session.scalars(allowed.order_by(BudgetRow.kind, BudgetRow.period)))
    yield small("deployments.json", [fields(deployment, _DEPLOYMENT) for deployment in deployments])
    yield small("budgets.json", [fields(budget, ("kind", "period", "amount")) for budget in budgets])
    used = select(*columns(UsageRow, _USAGE)).where(UsageRow.project_id == project_id)
    async for piece in pieces.rows(
        "usage.jsonl", used.order_by(UsageRow.day, UsageRow.kind, UsageRow.source)
    ):
        yield piece
