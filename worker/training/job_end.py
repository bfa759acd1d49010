import errno
import traceback
from dataclasses import dataclass
from typing import Literal

from reinforge.errors import JobFailure
from worker.algorithm.plugin_functions import NotFiniteError
from worker.machine.memory import is_out_of_memory

FRAMES = 20


@dataclass(frozen=True, slots=True)
class End:
    outcome: Literal["succeeded", "failed", "cancelled", "paused"]
    reason: str | None = None
    message: str | None = None
    hint: str | None = None
    traceback: str | None = None


def end_of(error: BaseException) -> End:
    if isinstance(error, JobFailure):
        outcome: Literal["paused", "failed"] = "paused" if error.retryable else "failed"
        trace = getattr(error, "traceback", None) or (_trace(error.__cause__) if error.__cause__ else None)
        return End(outcome, error.code, error.message, error.hint, trace)
    trace = _trace(error)
    if is_out_of_memory(error):
        hint = (
            "Free memory on the machine or its GPU, or use a worker with more memory, then resume the job. "
            "Or fork it with a lower rollout.max_completion_tokens or rollout.prompts_per_step."
        )
        return End(
            "paused", "out_of_memory", f"The trainer ran out of memory: {_first_line(error)}", hint, trace
        )
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        hint = "Free space in the data folder of this worker, then resume the job."
        return End("paused", "disk_full", f"The disk is full: {error}", hint, trace)
    if isinstance(error, NotFiniteError):
        hint = "Fix the function, raise the package's version and start the job again."
        return End("paused", "package_broken", str(error), hint, trace)
    message = f"The trainer failed: {type(error).__name__}: {_first_line(error)}"
    return End("failed", "trainer_failed", message, "The traceback is in the job's log.", trace)


def _trace(error: BaseException) -> str:
    return "".join(traceback.format_exception(error, limit=-FRAMES))


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:500] if lines else type(error).__name__
