"""The manifest of a job's bundle, and its files as a streamed tar."""

import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import anyio.to_thread
import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.base_models import service as base_models
from backend.data.database import Database
from backend.data.objects import CHUNK, Objects
from backend.http.tar_stream import END, entry, header, padding
from backend.jobs.bundle.parts import (
    BundleOptions,
    checkpoints_of,
    data_of,
    fork_of,
    judges_of,
    rewards_of,
    rollouts_of,
    start_of,
)
from backend.jobs.lifecycle.changes import scheduled
from backend.models import Job, MetricPoint, MetricSeries
from backend.projects.export_pieces import Pieces
from reinforge.bundles.manifest import MOST_FILES, NAME, BundledFile, BundledModel, BundleManifest
from reinforge.errors import StateConflict, TooLarge
from reinforge.states import FINAL, JobStatus
from reinforge.storage.base import disk_error

LARGEST_FILE = (1 << 33) - 1
"""Largest file size in bytes that a plain tar header can hold."""
METRICS = "metrics.parquet"
POINTS_AT_ONCE = 20_000
METRIC_SCHEMA = pa.schema(
    [
        ("kind", pa.string()),
        ("key", pa.string()),
        ("step", pa.int32()),
        ("ts", pa.float64()),
        ("value", pa.float64()),
    ]
)


@dataclass
class Bundle:
    """A planned bundle. Each file of `manifest.files` is in `texts`, by path, or in the object store."""

    manifest: BundleManifest
    texts: dict[str, bytes] = field(default_factory=dict)


async def plan(session: AsyncSession, job: Job, options: BundleOptions) -> Bundle:
    """Plan a bundle without its metrics, which `stream` adds. Raises TooLarge `bundle_too_large`, and
    StateConflict `job_not_ended` unless the job has ended or is paused.
    """
    if job.status not in FINAL and job.status != JobStatus.PAUSED:
        raise StateConflict(
            f"The job is {job.status}, but a bundle needs a job that has ended or is paused.",
            code="job_not_ended",
            hint=f"Wait for the job to end: reinforge job watch {job.id}",
        )
    model = await base_models.of(session, job)
    dataset, held_out = await data_of(session, job, options)
    rewards, texts = await rewards_of(session, job)
    start, fork = start_of(job), await fork_of(session, job)
    rollouts = await rollouts_of(session, job.id) if options.completions else []
    checkpoints = await checkpoints_of(session, job)
    objects: list[BundledFile] = [*dataset.files, *(held_out.files if held_out else []), *start]
    objects += fork.files if fork else []
    objects += [file for part in rollouts for file in part.files]
    objects += [file for part in checkpoints for file in part.files]
    files = [
        BundledFile(path=path, bytes=len(text), sha256=hashlib.sha256(text).hexdigest())
        for path, text in texts.items()
    ]
    files += objects
    _check_size(files)
    manifest = BundleManifest(
        job=job.id,
        name=job.name,
        status=job.status,
        step=job.step,
        spec=job.spec,
        resolved_spec=job.resolved_spec,
        model=BundledModel(id=model.id, source=public_source(model.source), sha256=job.model_sha256),
        dataset=dataset.entry,
        held_out=held_out.entry if held_out else None,
        rewards=rewards,
        judges=judges_of(job, texts),
        start=start[0].path if start else None,
        fork=fork.entry if fork else None,
        changes=await scheduled(session, job.id),
        facts=job.facts,
        metrics=METRICS,
        rollouts=[part.entry for part in rollouts],
        checkpoints=[part.entry for part in checkpoints],
        files=files,
    )
    return Bundle(manifest, texts)


async def stream(
    database: Database, objects: Objects, bundle: Bundle, metrics: IO[bytes], folder: Path
) -> AsyncIterator[bytes]:
    pieces = Pieces(database, objects, folder)
    manifest = bundle.manifest
    size, digest = await anyio.to_thread.run_sync(_measured, metrics)
    table = BundledFile(path=METRICS, bytes=size, sha256=digest)
    manifest = manifest.model_copy(update={"files": [table, *manifest.files]})
    yield entry(NAME, manifest.model_dump_json(indent=1).encode())
    yield header(METRICS, size)
    while chunk := await anyio.to_thread.run_sync(metrics.read, CHUNK):
        yield chunk
    yield padding(size)
    for file in bundle.manifest.files:
        if file.path in bundle.texts:
            yield entry(file.path, bundle.texts[file.path])
            continue
        async for piece in pieces.object(file.path, file.sha256, file.bytes):
            yield piece
    yield END


async def write_metrics(session: AsyncSession, job_id: str, file: IO[bytes]) -> None:
    """Write a job's metric points as Parquet, ordered by kind, key and step."""
    query = (
        select(MetricSeries.kind, MetricSeries.key, MetricPoint.step, MetricPoint.ts, MetricPoint.value)
        .join(MetricPoint, MetricPoint.series_id == MetricSeries.id)
        .where(MetricSeries.job_id == job_id)
        .order_by(MetricSeries.kind, MetricSeries.key, MetricPoint.step)
    )
    result = await session.stream(query.execution_options(yield_per=POINTS_AT_ONCE))
    with pq.ParquetWriter(file, METRIC_SCHEMA, compression="zstd") as writer:
        async for points in result.mappings().partitions(POINTS_AT_ONCE):
            table = pa.Table.from_pylist([dict(point) for point in points], METRIC_SCHEMA)
            try:
                await anyio.to_thread.run_sync(writer.write_table, table)
            except OSError as error:
                raise disk_error(error) from error


def public_source(source: str) -> str | None:
    return source if source.startswith(("builtin:", "hub:")) else None


def _measured(file: IO[bytes]) -> tuple[int, str]:
    file.flush()
    file.seek(0)
    digest = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
    size = file.tell()
    file.seek(0)
    return size, digest


def _check_size(files: list[BundledFile]) -> None:
    largest = max(files, key=lambda file: file.bytes)
    if largest.bytes > LARGEST_FILE or len(files) >= MOST_FILES:
        raise TooLarge(
            f"The bundle is too large: {len(files)} files, up to {largest.bytes} bytes ({largest.path}).",
            code="bundle_too_large",
            hint=f"The limit is {MOST_FILES} files of {LARGEST_FILE >> 30} GiB. Omit rows or completions.",
        )
