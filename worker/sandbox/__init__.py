"""Sandbox for reward code: a daemon that runs jails, and its client. Imports only the standard library.

Untrusted code runs nowhere else. A reward can falsify only the results of its own call (of its own row or
group, with ``isolate="sample"``).
"""

from worker.sandbox.client import SandboxClient
from worker.sandbox.limits import ProgramLimits, Timeouts
from worker.sandbox.outcome import (
    CallOutcome,
    EntryPoint,
    ProgramResult,
    ProgramRun,
    ProgramsOutcome,
    RewardRow,
    RowResult,
    SandboxStatus,
    Validation,
)  # fmt: skip

__all__ = [
    "CallOutcome",
    "EntryPoint",
    "ProgramLimits",
    "ProgramResult",
    "ProgramRun",
    "ProgramsOutcome",
    "RewardRow",
    "RowResult",
    "SandboxClient",
    "SandboxStatus",
    "Timeouts",
    "Validation",
]
