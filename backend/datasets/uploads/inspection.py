"""Inspection of an uploaded file in a child process."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyio.lowlevel import RunVar

from backend.access.work_slots import FairSlots
from backend.datasets.uploads.inspection_child import CPU_SECONDS, needs_too_much
from backend.processes import pool
from backend.processes.pool import MEMORY_BYTES
from reinforge.dataset import DatasetReport
from reinforge.dataset.limits import inspection_seconds
from reinforge.errors import InvalidInput, ReinforgeError, TooLarge
from reinforge.storage.base import scratch_file

CROWDED = 4
AT_ONCE = 3
WAITING = 100

_turns: RunVar[FairSlots] = RunVar("dataset inspections")


@dataclass(frozen=True, slots=True)
class InspectedFile:
    path: Path
    report: DatasetReport


@asynccontextmanager
async def inspected(
    path: Path, filename: str, limit: int, *, project: str, skip_bad_rows: bool
) -> AsyncIterator[InspectedFile]:
    if not skip_bad_rows:
        yield InspectedFile(path, await inspect_file(path, filename, limit, project=project))
        return
    with scratch_file(path.parent, "upload-") as file:
        to = Path(file.name)
        report = await inspect_file(path, filename, limit, project=project, skipping_to=to)
        yield InspectedFile(path if report.skipped is None else to, report)


async def inspect_file(
    path: Path, filename: str, limit: int, *, project: str, skipping_to: Path | None = None
) -> DatasetReport:
    """Inspect an uploaded file; projects take turns. With `skipping_to`, also write it to that path without
    bad rows.
    """
    turns = _turns.get(None)
    if turns is None:
        _turns.set(turns := FairSlots(AT_ONCE, WAITING))
    async with turns.turn(project):
        seconds = inspection_seconds(path.stat().st_size) * (1 if skipping_to is None else 2)
        arguments = [str(path), filename, str(limit), str(MEMORY_BYTES), str(int(seconds))]
        if skipping_to is not None:
            arguments.append(str(skipping_to))
        output, status = await run_child(
            "backend.datasets.uploads.inspection_child", *arguments, seconds=CROWDED * seconds
        )
    if status != 0:
        # Killed for memory, or by its limit of CPU time; a bug of ours would look the same to the sender.
        raise needs_too_much()
    answer: dict[str, Any] = json.loads(output)
    if "error" in answer:
        raise as_error(int(answer["status"]), answer["error"])
    return DatasetReport.model_validate(answer["report"])


async def run_child(module: str, *arguments: str, seconds: float = CPU_SECONDS) -> tuple[bytes, int]:
    process = await pool.start(module, *arguments, stdin=asyncio.subprocess.DEVNULL)
    try:
        async with asyncio.timeout(seconds):
            output, _ = await process.communicate()
    except TimeoutError:
        raise needs_too_much() from None
    finally:
        await pool.end(process)  # also when the client has disconnected
    return output, process.returncode or 0


def as_error(status: int, inner: dict[str, Any]) -> ReinforgeError:
    kind: type[ReinforgeError] = TooLarge if status == TooLarge.status else InvalidInput
    return kind(
        str(inner["message"]),
        code=inner.get("code"),
        hint=inner.get("hint"),
        param=inner.get("param") or "file",
        errors=inner.get("errors"),
        faults=inner.get("faults"),
    )
