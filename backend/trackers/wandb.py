"""Export to Weights & Biases: one child process with W&B's library per batch."""

import asyncio
import contextlib
import importlib.util
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from backend.trackers.batch import ExportBatch, ExportFailure, ExportResult
from backend.trackers.proxy import EgressProxy
from reinforge.net.outbound import AddressRefused, Guard

TIMEOUT_SECONDS = 120.0
UNAVAILABLE = (
    "The server has no W&B library: install `reinforge-server[wandb]` where the background process runs."
)
_ABANDONED_SECONDS = 3600.0
_INHERITED = ("PATH", "LANG", "PYTHONPATH", "SSL_CERT_FILE", "SSL_CERT_DIR")


def is_installed() -> bool:
    return importlib.util.find_spec("wandb") is not None


async def send(batch: ExportBatch, guard: Guard, folder: Path, *, offline: bool) -> ExportResult:
    """Send a batch. offline: only write W&B's files below `folder`, for `wandb sync`. Raises ExportFailure."""
    proxy = EgressProxy(guard)
    await asyncio.to_thread(_prepare, folder)
    if not offline:
        try:
            await guard.target(batch.url)
        except AddressRefused as error:
            raise ExportFailure(str(error)) from error
    with tempfile.TemporaryDirectory(dir=folder, prefix="sent-", ignore_cleanup_errors=True) as scratch:
        place = folder if offline else Path(scratch)
        async with proxy.listening() as address:
            question = asdict(batch) | {"proxy": address, "offline": offline, "key": None}
            answer = await _ask(json.dumps(question).encode(), _environment(batch, place, offline))
    failure = answer.get("error")
    if failure == "export_unavailable":
        raise ExportFailure(UNAVAILABLE)
    if failure is not None:
        refused = f" ({proxy.refusals[0]})" if proxy.refusals else ""
        raise ExportFailure(batch.without_key(f"{failure}{refused}")[:500])
    return ExportResult(str(answer["run_id"]), answer.get("run_url"))


def _prepare(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for scratch in folder.glob("sent-*"):
        with contextlib.suppress(FileNotFoundError):
            if scratch.stat().st_mtime < time.time() - _ABANDONED_SECONDS:
                shutil.rmtree(scratch, ignore_errors=True)


async def _ask(question: bytes, environment: dict[str, str]) -> dict[str, str | None]:
    """Run the child process and end every process that it has started. Raises ExportFailure."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "backend.trackers.wandb_child",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=environment,
        cwd=Path(__file__).resolve().parents[2],
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            output, _ = await process.communicate(question)
    except TimeoutError as error:
        raise ExportFailure(f"W&B did not answer within {TIMEOUT_SECONDS:g} s.") from error
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    try:
        answer = json.loads(output)
    except ValueError as error:
        raise ExportFailure(
            f"The export process gave no answer and ended with status {process.returncode}."
        ) from error
    return answer if isinstance(answer, dict) else {"error": "the export process sent an unreadable answer"}


def _environment(batch: ExportBatch, folder: Path, offline: bool) -> dict[str, str]:
    """Environment without the server's own credentials."""
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return inherited | {
        "HOME": str(folder),
        "WANDB_BASE_URL": batch.url,
        "WANDB_API_KEY": batch.key or "",
        "WANDB_MODE": "offline" if offline else "online",
        "WANDB_DIR": str(folder),
        "WANDB_CACHE_DIR": str(folder / "cache"),
        "WANDB_CONFIG_DIR": str(folder / "config"),
        "WANDB_DATA_DIR": str(folder / "data"),
        "WANDB_ERROR_REPORTING": "false",
        "WANDB_SILENT": "true",
    }
