"""Inspection of an uploaded file in a child process."""

import asyncio
import json
from pathlib import Path
from typing import Any

import anyio
from anyio.lowlevel import RunVar

from backend.datasets.uploads.inspection_child import CPU_SECONDS, needs_too_much
from backend.processes import pool
from backend.processes.pool import MEMORY_BYTES
from reinforge.dataset import DatasetReport
from reinforge.dataset.limits import inspection_seconds
from reinforge.errors import InvalidInput, ReinforgeError, TooLarge

CROWDED = 4
"""Wall time factor of low-priority children."""
AT_ONCE = 2

_turns: RunVar[anyio.CapacityLimiter] = RunVar("dataset inspections")


async def inspect_file(path: Path, filename: str, limit: int) -> DatasetReport:
    """Raises InvalidInput or TooLarge with the first error's line and column in `errors[0]`."""
    turns = _turns.get(None)
    if turns is None:
        _turns.set(turns := anyio.CapacityLimiter(AT_ONCE))
    async with turns:
        seconds = inspection_seconds(path.stat().st_size)
        arguments = (str(path), filename, str(limit), str(MEMORY_BYTES), str(int(seconds)))
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
    """Run a module; returns output and exit status. Raises TooLarge past `seconds`."""
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
    )
