"""Limits of the sandbox: those a call may set, and fixed ones."""

from dataclasses import dataclass

MAX_SOURCE_BYTES = 256 << 10
MAX_REQUEST_BYTES = 64 << 20
MAX_ROWS = 1024

MAX_CASUALTIES = 8
"""Number of units that may end their process before the rest of a call is skipped."""

JAIL_CALLS, JAIL_SECONDS = 2000, 3600
"""A jail is replaced after so many calls or seconds."""

RLIMITS: dict[str, int] = {
    "AS": 1 << 30,
    "STACK": 8 << 20,
    "FSIZE": 0,
    "NOFILE": 64,
    "NPROC": 0,
    "CORE": 0,
    "MEMLOCK": 0,
    "MSGQUEUE": 0,
    "SIGPENDING": 64,
    "NICE": 0,
    "RTPRIO": 0,
    "CPU": 120,
}
"""Limits of untrusted code's process (bytes, counts, seconds)."""

PRELOAD: tuple[str, ...] = (
    "math", "re", "string", "collections", "itertools", "functools", "statistics", "random",
    "decimal", "fractions", "datetime", "difflib", "unicodedata", "typing", "dataclasses", "ast",
    "textwrap", "heapq", "bisect", "operator", "hashlib", "base64", "json", "copy",
    "enum", "asyncio",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds a call may take. Raises ``ValueError`` for values not positive or above their cap.

    load: import. sample: one row; twice that if starved of CPU. call: all rows. cpu: of one process.
    """

    load: float = 5.0
    sample: float = 2.0
    call: float = 30.0
    cpu: float = 60.0

    def __post_init__(self) -> None:
        for name, cap in (("load", 30.0), ("sample", 60.0), ("call", 120.0), ("cpu", 120.0)):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0 < value <= cap:
                raise ValueError(f"timeout {name} must be above 0 and at most {cap:g} seconds, got {value!r}")


@dataclass(frozen=True, slots=True)
class ProgramLimits:
    """Limits of one run: `wall` seconds, `memory` and `output` bytes. Raises ``ValueError`` for values not
    positive or above their cap.
    """

    wall: float = 5.0
    memory: int = 512 << 20
    output: int = 64 << 10

    def __post_init__(self) -> None:
        for name, cap in (("wall", 30.0), ("memory", 2 << 30), ("output", 1 << 20)):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0 < value <= cap:
                raise ValueError(
                    f"the program limit {name} must be above 0 and at most {cap:g}, got {value!r}"
                )
