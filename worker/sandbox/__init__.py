"""Sandbox for reward code: a daemon that runs jails, and its client.

``python -m worker.sandbox --socket PATH`` runs the daemon; :class:`SandboxClient` scores with it. Untrusted
code runs nowhere else. Standard library only.

Jail L denies: reading anything but the interpreter, its library and allowed packages; all writes; sockets of
every family; processes, threads and programs; signals, ptrace and namespaces; the host's environment and
descriptors. It limits memory, CPU, time and output, and leaves no state between calls.

Not covered: names and sizes of host files can be seen (``stat``); a reward may lie about the rows of its own
call, or of its own unit with ``isolate="sample"``; side channels and bugs of the shared kernel.
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
