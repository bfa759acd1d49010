"""Available memory, and detection of out-of-memory errors."""

import errno
import gc
import re
from pathlib import Path

import torch

from reinforge.errors import JobFailure

OUT_OF_MEMORY = "out_of_memory"
"""Code of a JobFailure."""
_TEXTS = (
    "can't allocate memory",
    "not enough memory",
    "CUDA error: out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
)
_REQUESTED = re.compile(r"tried to allocate ([\d.]+ [A-Za-z]+)", re.IGNORECASE)


def is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    if isinstance(error, RuntimeError):
        return any(text in str(error) for text in _TEXTS)
    return isinstance(error, OSError) and error.errno == errno.ENOMEM


def requested_amount(error: BaseException) -> str | None:
    match = _REQUESTED.search(str(error))
    return match[1] if match else None


def with_amount(amount: str | None) -> str:
    return f" (an allocation of {amount} failed)" if amount else ""


def out_of_memory(device: torch.device, what: str) -> JobFailure:
    place = "GPU" if device.type == "cuda" else "machine"
    return JobFailure(
        f"The trainer ran out of memory: {what}.",
        code=OUT_OF_MEMORY,
        hint=f"Free memory of the {place}, or give the job a worker with more, then resume it: it continues after its "
        "last whole step. Or fork it with a smaller rollout.max_completion_tokens.",
        retryable=True,
    )


def release(device: torch.device) -> None:
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()


def memory_in_words(device: torch.device) -> str:
    at_hand, total = memory_at_hand(device), total_memory(device)
    if at_hand is None or total is None:
        return ""
    return f"{at_hand / 2**30:.3g} of {total / 2**30:.3g} GiB are at hand"


def total_memory(device: torch.device) -> int | None:
    """Total memory of the device in bytes; for the CPU, of the machine."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[1])
    return total_ram()


def total_ram(root: Path = Path("/")) -> int | None:
    """Total memory of this machine or container in bytes."""
    system = _field(root / "proc/meminfo", "MemTotal:")
    if system is None:
        return None
    limit = _number(root / "sys/fs/cgroup/memory.max")
    return system * 1024 if limit is None else min(system * 1024, limit)


def memory_at_hand(device: torch.device) -> int | None:
    if device.type != "cuda":
        return available_ram()
    free, _ = torch.cuda.mem_get_info(device)
    # PyTorch's unused cache is not free for others, but available to this process.
    return free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)


def available_ram(root: Path = Path("/")) -> int | None:
    """Memory in bytes that this process can still allocate, within a container's limit."""
    system = _field(root / "proc/meminfo", "MemAvailable:")
    if system is None:
        return None
    available = system * 1024
    group = root / "sys/fs/cgroup"
    limit, used = _number(group / "memory.max"), _number(group / "memory.current")
    if limit is None or used is None:
        return available
    # Inactive page cache can be reclaimed.
    cached = _field(group / "memory.stat", "inactive_file") or 0
    return max(0, min(available, limit - used + cached))


def _field(path: Path, name: str) -> int | None:
    try:
        words = [line.split() for line in path.read_text(encoding="ascii").splitlines()]
    except OSError:
        return None
    return next((int(fields[1]) for fields in words if len(fields) > 1 and fields[0] == name), None)


def _number(path: Path) -> int | None:
    try:
        text = path.read_text(encoding="ascii").strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None
