"""Inputs and outcomes of a call of the sandbox: rows, results, statuses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

RowStatus = Literal[
    "ok", "not_applicable", "exception", "bad_value", "timeout", "cpu_limit", "memory", "crashed", "exited",
    "output_flood", "deadline", "skipped",
]  # fmt: skip
ProgramStatus = Literal[
    "ok", "exception", "bad_value", "memory", "timeout", "cpu_limit", "crashed", "exited", "output_flood", "skipped",
]  # fmt: skip
SandboxCallStatus = Literal["ok", "load_error", "sandbox_error", "sandbox_unavailable"]
Granularity = Literal["sample", "group", "batch"]
Isolation = Literal["batch", "sample"]

ROW_STATUSES: frozenset[str] = frozenset(RowStatus.__args__)  # type: ignore[attr-defined]
CALL_STATUSES: frozenset[str] = frozenset(SandboxCallStatus.__args__)  # type: ignore[attr-defined]

RETRIED_ROWS: frozenset[str] = frozenset({"deadline", "skipped"})
"""Statuses caused by the call, not the row: retried once."""


@dataclass(frozen=True, slots=True)
class RewardRow:
    """``group``: rows with the same value are scored together."""

    prompt: str | Sequence[Mapping[str, Any]]
    completion: str
    item: Mapping[str, Any] = field(default_factory=dict)
    judges: Mapping[str, Any] | None = None
    group: str | int | None = None
    sample: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class RowResult:
    """``value`` is a number if and only if ``status`` is ``ok``. Not frozen, for speed."""

    status: RowStatus
    value: float | None = None
    parts: dict[str, float] = field(default_factory=dict)
    steps: list[tuple[float, int]] = field(default_factory=list)
    criteria: dict[str, float] = field(default_factory=dict)
    candidates: list[list[float]] = field(default_factory=list)
    reason: str | None = None
    prints: str = ""
    message: str | None = None
    wall_ms: float = 0.0
    cpu_ms: float = 0.0
    turns: list[tuple[float, int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """One result per row if ``status`` is ``ok``. ``load_error`` is the reward's fault, other statuses are the
    platform's.
    """

    status: SandboxCallStatus
    rows: list[RowResult] = field(default_factory=list)
    message: str | None = None
    line: int | None = None
    log: str = ""
    jail: str | None = None


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """One run: a script that reads ``stdin``, or a program followed by a call or a test.

    call: an expression, such as ``f(3)``. loose: tuples count as lists in its value. test: source in the same process,
    which the program can fool.
    """

    stdin: str = ""
    call: str | None = None
    loose: bool = False
    test: str | None = None


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """The status ``bad_value`` means that a call's value has no canonical form."""

    status: ProgramStatus
    output: str = ""
    notes: str = ""
    message: str | None = None
    wall_ms: float = 0.0
    cpu_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class ProgramsOutcome:
    status: SandboxCallStatus
    results: list[ProgramResult] = field(default_factory=list)
    message: str | None = None
    jail: str | None = None


@dataclass(frozen=True, slots=True)
class EntryPoint:
    name: str
    spelling: str
    line: int | None = None
    columns: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Validation:
    status: SandboxCallStatus
    entries: list[EntryPoint] = field(default_factory=list)
    message: str | None = None
    line: int | None = None
    column: int | None = None
    log: str = ""


@dataclass(frozen=True, slots=True)
class SandboxStatus:
    available: bool
    jail: str | None
    reasons: list[str]
    probe: dict[str, Any] = field(default_factory=dict)
