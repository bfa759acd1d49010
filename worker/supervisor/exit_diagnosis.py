"""Diagnoses why a trainer ended without a report."""

import signal
import sys
import threading
import traceback
from dataclasses import dataclass
from pathlib import Path

LOG_TAIL_LINES = 60
_LOG_TAIL_BYTES = 16_384
_MEMORY_TEXTS = (
    "CUDA out of memory",
    "OutOfMemoryError",
    "MemoryError",
    "can't allocate memory",
    "Cannot allocate memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
)
DISK_TEXTS = ("No space left on device", "Disk quota exceeded")
MEMORY_HINT = (
    "Free memory on the machine or its GPU, or give the job a worker with more, then resume it. Or fork it "
    "with lower rollout.completions_per_prompt, rollout.prompts_per_step or rollout.max_completion_tokens."
)
DISK_HINT = "Free some space on the worker's disk, then resume the job."
RETRYABLE = frozenset({"disk_full", "out_of_memory"})


@dataclass(frozen=True)
class ExitCause:
    reason: str
    message: str
    hint: str


def log_tail(path: Path) -> str:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _LOG_TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except OSError as error:
        return f"(the log cannot be read: {error})"
    # PostgreSQL cannot store NUL in text.
    return "\n".join(text.replace("\0", "\ufffd").splitlines()[-LOG_TAIL_LINES:])


def where(thread: threading.Thread) -> str:
    frame = sys._current_frames().get(thread.ident or 0)
    return "".join(traceback.format_stack(frame)) if frame is not None else "(the thread has ended)"


def memory_kills() -> int:
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


def explain(status: int, tail: str, *, kernel_killed: bool) -> ExitCause:
    """Cause to report for a trainer's exit status (negative: a signal) and the end of its log."""
    last = "\n".join(tail.splitlines()[-5:])
    if (status == -signal.SIGKILL and kernel_killed) or any(text in last for text in _MEMORY_TEXTS):
        return ExitCause("out_of_memory", "The trainer ran out of memory.", MEMORY_HINT)
    if any(text in last for text in DISK_TEXTS):
        return ExitCause("disk_full", "The trainer's disk is full.", DISK_HINT)
    if status == -signal.SIGKILL:
        return ExitCause(
            "killed",
            "The trainer was killed from outside (SIGKILL).",
            "If nobody killed it, check the memory limit of machine or container; then start the job again.",
        )
    if status < 0:
        name = signal.Signals(-status).name if -status in set(signal.Signals) else f"signal {-status}"
        message = f"The trainer crashed ({name})."
    else:
        message = f"The trainer ended with status {status} without a result."
    return ExitCause(
        "trainer_crashed", message, "Read the log's last lines below; the whole log is in the run folder."
    )
