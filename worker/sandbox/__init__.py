"""The sandbox for reward code: a daemon with jails, and the client that speaks to it.

``python -m worker.sandbox --socket PATH`` runs the daemon; :class:`SandboxClient` scores with it. Untrusted code runs
nowhere else. Standard library only.

Covered by jail L: reading anything but the interpreter, its library and allowed packages; writing anything; sockets
of every family; processes, threads, programs; signals, ptrace, namespaces; the host's environment and descriptors;
memory, CPU, time and output; what one call could leave for the next. Not covered: names and sizes of the host's files
can be seen (``stat``); a reward may lie about the rows of its own call, of its own unit with ``isolate="sample"``;
side channels and bugs of the shared kernel.
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
