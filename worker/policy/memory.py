"""Memory at hand, and telling a lack of it from other failures: it comes as four kinds of errors."""

import errno
from pathlib import Path

import torch


def is_out_of_memory(error: BaseException) -> bool:
    """PyTorch's CPU allocator raises a plain RuntimeError, mapping a file an OSError."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    if isinstance(error, RuntimeError):
        return "not enough memory" in str(error)
    return isinstance(error, OSError) and error.errno == errno.ENOMEM


def memory_at_hand(device: torch.device) -> int | None:
    """Bytes that tensors on `device` may still take; None where nobody says."""
    if device.type != "cuda":
        return available_ram()
    free, _ = torch.cuda.mem_get_info(device)
    # What PyTorch holds and does not use is neither free for others nor taken from us.
    return free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)


def available_ram(root: Path = Path("/")) -> int | None:
    """Bytes that this process may still take: what Linux has, and what a container's limit leaves. `root`: of /proc
    and /sys."""
    system = _field(root / "proc/meminfo", "MemAvailable:")
    if system is None:
        return None
    available = system * 1024
    group = root / "sys/fs/cgroup"
    limit, used = _number(group / "memory.max"), _number(group / "memory.current")
    if limit is None or used is None:
        return available
    # Files that are cached and not in use give way.
    cached = _field(group / "memory.stat", "inactive_file") or 0
    return max(0, min(available, limit - used + cached))


def _field(path: Path, name: str) -> int | None:
    """The number behind a name at the beginning of a line."""
    try:
        words = [line.split() for line in path.read_text(encoding="ascii").splitlines()]
    except OSError:
        return None
    return next((int(each[1]) for each in words if len(each) > 1 and each[0] == name), None)


def _number(path: Path) -> int | None:
    """None where there is no such file or it says `max`."""
    try:
        text = path.read_text(encoding="ascii").strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None
