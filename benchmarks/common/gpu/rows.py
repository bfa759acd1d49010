"""Rows of a check: a name, what was measured, and whether it holds."""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import torch

Status = Literal["passed", "failed", "waiting"]
NO_GPU = "needs a GPU and full sizes"
NO_TIME = "no time is left: --only SECTION gives it more"


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    status: Status
    """`waiting`: not measured, for the reason in `note`."""
    value: float | None = None
    unit: str = ""
    limit: str = ""
    """What the value has to be; empty for a figure without a limit."""
    note: str = ""
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Setting:
    """Where and how large a section runs."""

    device: str
    """`cuda` or `cpu`."""
    tiny: bool
    """Sizes that a CPU finishes in seconds. Their figures say nothing about a GPU."""
    folder: Path
    """Scratch space of this section."""
    model: Path | None = None
    """A published model to train, for the section `job`."""
    data: str | None = None
    """Its prompts: `gsm8k` or a JSONL file."""
    deadline: float = math.inf
    """Of this section, by `time.monotonic`."""
    whole: bool = False
    """Whether all sections run, so that time is short."""

    def has_time(self, seconds: float) -> bool:
        return not self.full or self.deadline - time.monotonic() >= seconds

    @property
    def full(self) -> bool:
        """Whether figures are those of a GPU."""
        return self.device == "cuda" and not self.tiny

    def wait(self) -> None:
        """Until the device has done all its work."""
        if self.device == "cuda":
            torch.cuda.synchronize()

    def peak_gib(self) -> float | None:
        """Most memory of the GPU since `reset_peak`."""
        return torch.cuda.max_memory_allocated() / 2**30 if self.device == "cuda" else None

    def reset_peak(self) -> None:
        if self.device == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()


Section = Callable[[Setting], Iterator[Row]]


def figure(name: str, value: float, unit: str, **details: Any) -> Row:
    """A measured value without a limit."""
    return Row(name, "passed", value, unit, details=details)


def at_most(name: str, value: float, limit: float, unit: str = "", **details: Any) -> Row:
    """Passes where `value` ≤ `limit`; NaN fails."""
    return Row(name, "passed" if value <= limit else "failed", value, unit, f"≤ {limit:g}", details=details)


def at_least(name: str, value: float, limit: float, unit: str = "", **details: Any) -> Row:
    """Passes where `value` ≥ `limit`; NaN fails."""
    return Row(name, "passed" if value >= limit else "failed", value, unit, f"≥ {limit:g}", details=details)


def of_gpu(row: Row, setting: Setting) -> Row:
    """The row, or a waiting one: a figure of a tiny model, or of a CPU, says nothing about a GPU."""
    if setting.full:
        return row
    details = row.details if row.value is None else row.details | {"tiny": row.value}
    return replace(row, status="waiting", value=None, note=NO_GPU, details=details)


def holds(name: str, condition: bool, note: str = "", **details: Any) -> Row:
    return Row(name, "passed" if condition else "failed", note=note, details=details)


def waiting(name: str, note: str) -> Row:
    return Row(name, "waiting", note=note)
