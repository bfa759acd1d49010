"""How a job ends when something is raised: one place that turns an error into a named end."""

import errno
import traceback
from dataclasses import dataclass
from typing import Literal

import torch

from reinforge.errors import JobFailure

FRAMES = 20
"""Innermost frames of a traceback that are kept."""


@dataclass(frozen=True, slots=True)
class End:
    outcome: Literal["succeeded", "failed", "cancelled", "paused"]
    reason: str | None = None
    message: str | None = None
    hint: str | None = None
    traceback: str | None = None


def end_of(error: BaseException) -> End:
    """The end that an error means. Reasons: the codes of JobFailure, `out_of_memory`, `disk_full`, `trainer_failed`."""
    if isinstance(error, JobFailure):
        outcome: Literal["paused", "failed"] = "paused" if error.retryable else "failed"
        return End(outcome, error.code, error.message, error.hint, getattr(error, "traceback", None))
    trace = "".join(traceback.format_exception(error, limit=-FRAMES))
    if isinstance(error, MemoryError | torch.OutOfMemoryError) or _cpu_allocation_failed(error):
        hint = (
            "Lower rollout.max_completion_tokens, rollout.prompts_per_step or adapter.rank, "
            "or use a machine with more memory."
        )
        return End(
            "failed", "out_of_memory", f"The trainer ran out of memory: {_first_line(error)}", hint, trace
        )
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        hint = "Free space in the data folder of this worker, then start the job again."
        return End("failed", "disk_full", f"The disk is full: {error}", hint, trace)
    message = f"The trainer failed: {type(error).__name__}: {_first_line(error)}"
    return End("failed", "trainer_failed", message, "The traceback is in the job's log.", trace)


def _cpu_allocation_failed(error: BaseException) -> bool:
    """PyTorch's CPU allocator raises a plain RuntimeError."""
    return isinstance(error, RuntimeError) and "not enough memory" in str(error)


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:500] if lines else type(error).__name__
