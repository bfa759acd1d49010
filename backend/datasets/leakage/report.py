"""The report on equal prompts and leaks: worked out once in a process of its own, and kept.

A large dataset takes a minute or more, so whoever asks waits a little and is told to ask again.
"""

import asyncio
import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import anyio.to_thread
from anyio.lowlevel import RunVar

from backend.data.objects import Objects
from backend.datasets import service
from backend.datasets.leakage.compare import Held, Source
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

KEPT = 200
"""Reports."""
WAIT_SECONDS = 20.0
_VERSION = 1
_SMALL_BYTES = 4 * 1024 * 1024
"""Of all files together: read in a process that is there already, since one of its own takes longer to start."""

PROJECT_REPORTS = 8
"""Of one project, under way and waiting for their turn."""


@dataclass
class Work:
    """A report under way. project: whose request began it. waiting: requests that wait for it now."""

    project: str
    task: "asyncio.Task[dict[str, Any]]"
    waiting: int = 0


_running: RunVar[dict[str, Work]] = RunVar("dataset reports")


async def report(
    objects: Objects,
    cache: Path,
    dataset: Dataset,
    held: Held,
    other: Dataset | None = None,
    *,
    view: PromptView | None = None,
    wait: float = WAIT_SECONDS,
) -> DatasetOverlap:
    """Equal prompts of a dataset, and what of `other` or of the rows held out by seed it trains on.

    `cache` is where local copies of datasets lie. `view` None: how people have said that rows become prompts.
    Raises InvalidInput (a view without a prompt, a split that cannot be), TooLarge `file_too_complex`,
    TooManyRequests.
    """
    how = view or PromptView.model_validate(dataset.prompt_view)
    rendering.check_view(dataset, how)
    if other is not None:
        rendering.check_view(other, how)
    key = _key(dataset, how, held, other)
    kept = cache.parent / "reports" / f"{key}.json"
    shown = {"dataset": dataset.id, "rows": dataset.rows}
    found = await anyio.to_thread.run_sync(_read, kept)
    if found is None:
        running = _running.get({})
        _running.set(running)
        work = running.get(key)
        if work is None:
            _check_count(running, dataset.project_id)
            task = asyncio.create_task(_work(objects, cache, dataset, how, held, other, kept))
            work = running[key] = Work(dataset.project_id, task)
            task.add_done_callback(lambda _: running.pop(key, None))
        if not await _is_done(work, wait):
            return DatasetOverlap(**shown, status="running")
        found = work.task.result()
    made = DatasetOverlap.model_validate(found | shown | {"status": "ready"})
    if made.leakage is not None:
        where = other or dataset
        made.leakage.dataset, made.leakage.name = where.id, where.name
    made.advice = advice(made)
    return made


def _check_count(running: dict[str, Work], project: str) -> None:
    """Raises TooManyRequests."""
    if sum(each.project == project for each in running.values()) >= PROJECT_REPORTS:
        raise TooManyRequests(
            f"{PROJECT_REPORTS} reports of this project are being made already.",
            code="too_many_reports",
            hint="Wait until one is ready, then ask again.",
            retry_after=5,
        )


async def _is_done(work: Work, wait: float) -> bool:
    """Whether it is, after at most `wait` seconds. When the last request that waits is cancelled, so is the work."""
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


def advice(found: DatasetOverlap) -> list[str]:
    """What a report means, and what to do about it."""
    said = leaks(found)
    if found.duplicates and found.duplicates.rows:
        verb = "repeats" if found.duplicates.rows == 1 else "repeat"
        said.append(
            f"{_rows(found.duplicates.rows)} of {found.compared:,} {verb}"
            " the prompt of an earlier row: such prompts are trained on more often than others. Drop the copies,"
            " unless that is what you want."
        )
    if found.without_prompt:
        said.append(f"{_rows(found.without_prompt)} cannot become a prompt and were not compared.")
    if found.compared < found.rows:
        said.append(f"Only the first {found.compared:,} of {found.rows:,} rows were compared.")
    return said


def leaks(found: DatasetOverlap) -> list[str]:
    """Sentences about held-out prompts that are trained on."""
    said, leakage = [], found.leakage
    if leakage is None:
        return []
    if leakage.equal:
        cure = (
            "Split by prompt (data.split_by: prompt): equal prompts then stay on one side."
            if leakage.source == "split"
            else f"Drop them from the training rows or from {leakage.name}."
        )
        verb = "has" if leakage.equal == 1 else "have"
        said.append(
            f"{leakage.equal:,} of {leakage.held_out:,} held-out rows {verb} a prompt that is trained on as well (equal"
            f" but for white space and capitals): the held-out reward will look better than it is. {cure}"
        )
    if leakage.near:
        said.append(
            f"{leakage.near:,} held-out {'row has' if leakage.near == 1 else 'rows have'} nearly the prompt of a"
            " training row (at least 80 % of their word sequences): look at the examples, and drop those that ask"
            " the same."
        )
    return said


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def _key(dataset: Dataset, how: PromptView, held: Held, other: Dataset | None) -> str:
    parts = [_VERSION, dataset.sha256, dataset.format, how.model_dump_json(), asdict(held)]
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
    held: Held,
    other: Dataset | None,
    kept: Path,
) -> dict[str, Any]:
    source = asdict(await _source(objects, cache, dataset, how))
    against = asdict(held) | {"other": None}
    if other is not None:
        against["other"] = asdict(await _source(objects, cache, other, how))
    formats = {dataset.format, other.format if other else dataset.format}
    async with turns().turn(dataset.project_id):
        if "parquet" not in formats and dataset.bytes + (other.bytes if other else 0) <= _SMALL_BYTES:
            # Comparing is Python's own work: in a thread it would take turns with every other request.
            said = await read_in_process(answer, source, against)
        else:
            arguments = (json.dumps(source), json.dumps(against), str(MEMORY_BYTES))
            output, status = await run_child("backend.datasets.leakage.compare_child", *arguments)
            if status != 0:
                raise needs_too_much()
            said = json.loads(output)
    if "error" in said:
        raise as_error(int(said["status"]), said["error"])
    found: dict[str, Any] = said["found"]
    await anyio.to_thread.run_sync(_write, kept, found)
    return found


async def _source(objects: Objects, cache: Path, dataset: Dataset, how: PromptView) -> Source:
    path = await service.local_file(objects, dataset, cache)
    return Source(str(path), dataset.format, dataset.rows, how.model_dump_json())  # type: ignore[arg-type]


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(path.read_text())
        os.utime(path)
    except (FileNotFoundError, ValueError):
        return None
    return found


def _write(path: Path, found: dict[str, Any]) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(json.dumps(found).encode())
    newest = sorted(path.parent.glob("*.json"), key=lambda each: each.stat().st_mtime, reverse=True)
    for each in newest[KEPT:]:
        each.unlink(missing_ok=True)
