"""Reports on repeated and leaked prompts, computed once in a child process and cached."""

import asyncio
import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import anyio.to_thread
from anyio.lowlevel import RunVar

from backend.data.objects import Objects
from backend.datasets import service
from backend.datasets.leakage.compare import ComparedDataset, HeldOutRows
from backend.datasets.leakage.compare_child import answer
from backend.datasets.prompts import rendering
from backend.datasets.reading import read_in_process, turns
from backend.datasets.uploads.inspection import as_error, run_child
from backend.datasets.uploads.inspection_child import needs_too_much
from backend.models import Dataset
from backend.processes.pool import MEMORY_BYTES
from reinforge.errors import TooManyRequests
from reinforge.schemas.dataset_reports import DatasetOverlap
from reinforge.schemas.datasets import PromptView
from reinforge.storage.base import replacing
from reinforge.system.folder_cache import FolderCache

MOST_REPORTS = 200
WAIT_SECONDS = 20.0
_VERSION = 1
_SMALL_BYTES = 4 * 1024 * 1024

PROJECT_REPORTS = 8


@dataclass
class Work:
    project: str
    task: "asyncio.Task[dict[str, Any]]"
    waiting: int = 0


_running: RunVar[dict[str, Work]] = RunVar("dataset reports")


async def report(
    objects: Objects,
    cache: Path,
    dataset: Dataset,
    held_out: HeldOutRows,
    other: Dataset | None = None,
    *,
    view: PromptView | None = None,
    wait: float = WAIT_SECONDS,
) -> DatasetOverlap:
    how = view or PromptView.model_validate(dataset.prompt_view)
    rendering.check_view(dataset, how)
    if other is not None:
        rendering.check_view(other, how)
    key = _key(dataset, how, held_out, other)
    report_file = cache.parent / "reports" / f"{key}.json"
    identity = {"dataset": dataset.id, "rows": dataset.rows}
    overlap = await anyio.to_thread.run_sync(_read, report_file)
    if overlap is None:
        running = _running.get({})
        _running.set(running)
        work = running.get(key)
        if work is None:
            _check_count(running, dataset.project_id)
            task = asyncio.create_task(_work(objects, cache, dataset, how, held_out, other, report_file))
            work = running[key] = Work(dataset.project_id, task)
            task.add_done_callback(lambda _: running.pop(key, None))
        if not await _is_done(work, wait):
            return DatasetOverlap(**identity, status="running")
        overlap = work.task.result()
    result = DatasetOverlap.model_validate(overlap | identity | {"status": "ready"})
    if result.leakage is not None:
        where = other or dataset
        result.leakage.dataset, result.leakage.name = where.id, where.name
    result.advice = advice(result)
    return result


def _check_count(running: dict[str, Work], project: str) -> None:
    if sum(running_work.project == project for running_work in running.values()) >= PROJECT_REPORTS:
        raise TooManyRequests(
            f"{PROJECT_REPORTS} reports of this project are already running, the maximum.",
            code="too_many_reports",
            hint="Wait until one is ready, then ask again.",
            retry_after=5,
        )


async def _is_done(work: Work, wait: float) -> bool:
    work.waiting += 1
    try:
        done, _ = await asyncio.wait({work.task}, timeout=wait)
    except asyncio.CancelledError:
        if work.waiting == 1:
            work.task.cancel()
        raise
    finally:
        work.waiting -= 1
    return bool(done)


def advice(overlap: DatasetOverlap) -> list[str]:
    sentences = leaks(overlap)
    if overlap.duplicates and overlap.duplicates.rows:
        verb = "repeats" if overlap.duplicates.rows == 1 else "repeat"
        sentences.append(
            f"{_rows(overlap.duplicates.rows)} of {overlap.compared:,} {verb}"
            " the prompt of an earlier row: such prompts are trained on more often than others. Drop the copies,"
            " unless they are intended."
        )
    if overlap.without_prompt:
        sentences.append(
            f"{_rows(overlap.without_prompt)} cannot be rendered as a prompt and were not compared."
        )
    if overlap.compared < overlap.rows:
        sentences.append(f"Only the first {overlap.compared:,} of {overlap.rows:,} rows were compared.")
    return sentences


def leaks(overlap: DatasetOverlap) -> list[str]:
    sentences, leakage = [], overlap.leakage
    if leakage is None:
        return []
    if leakage.equal:
        cure = (
            "Split by prompt (data.split_by: prompt): equal prompts then stay on one side."
            if leakage.source == "split"
            else f"Drop them from the training rows or from {leakage.name}."
        )
        verb = "has" if leakage.equal == 1 else "have"
        sentences.append(
            f"{leakage.equal:,} of {leakage.held_out:,} held-out rows {verb} a prompt that is trained on as well (equal"
            f" but for white space and capitals): the held-out reward will look better than it is. {cure}"
        )
    if leakage.near:
        sentences.append(
            f"{leakage.near:,} held-out {'row has' if leakage.near == 1 else 'rows have'} nearly the prompt of a"
            " training row (at least 80 % of their word sequences): look at the examples, and drop those that ask"
            " the same."
        )
    return sentences


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def _key(dataset: Dataset, how: PromptView, held_out: HeldOutRows, other: Dataset | None) -> str:
    parts = [_VERSION, dataset.sha256, dataset.format, how.model_dump_json(), asdict(held_out)]
    text = json.dumps([*parts, other.sha256 if other else None], sort_keys=True)
    # The datasets' hashes are in the name, so that the report goes from the cache with their rows
    # (`backend.data.caches`).
    names = [dataset.sha256, *([other.sha256] if other else [])]
    return "-".join([*names, hashlib.sha256(text.encode()).hexdigest()[:32]])


async def _work(
    objects: Objects,
    cache: Path,
    dataset: Dataset,
    how: PromptView,
    held_out: HeldOutRows,
    other: Dataset | None,
    report_file: Path,
) -> dict[str, Any]:
    source = asdict(await _source(objects, cache, dataset, how))
    against = asdict(held_out) | {"other": None}
    if other is not None:
        against["other"] = asdict(await _source(objects, cache, other, how))
    formats = {dataset.format, other.format if other else dataset.format}
    async with turns().turn(dataset.project_id):
        if "parquet" not in formats and dataset.bytes + (other.bytes if other else 0) <= _SMALL_BYTES:
            # Comparing is CPU-bound Python: in a thread it would block other requests.
            output_object = await read_in_process(answer, source, against)
        else:
            arguments = (json.dumps(source), json.dumps(against), str(MEMORY_BYTES))
            output, status = await run_child("backend.datasets.leakage.compare_child", *arguments)
            if status != 0:
                raise needs_too_much()
            output_object = json.loads(output)
    if "error" in output_object:
        raise as_error(int(output_object["status"]), output_object["error"])
    overlap: dict[str, Any] = output_object["found"]
    await anyio.to_thread.run_sync(_write, report_file, overlap)
    return overlap


async def _source(objects: Objects, cache: Path, dataset: Dataset, how: PromptView) -> ComparedDataset:
    path = await service.local_file(objects, dataset, cache)
    return ComparedDataset(str(path), dataset.format, dataset.rows, how.model_dump_json())  # type: ignore[arg-type]


def _read(path: Path) -> dict[str, Any] | None:
    try:
        overlap: dict[str, Any] = json.loads(path.read_text())
        FolderCache(path.parent).use(path.name)
    except (FileNotFoundError, ValueError):
        return None
    return overlap


def _write(path: Path, overlap: dict[str, Any]) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(json.dumps(overlap).encode())
    FolderCache(path.parent, max_entries=MOST_REPORTS).evict(keep={path.name})
