"""Whether the cost of reading an input grows no faster than the input.

A reader is run on an input of n characters and on one sixteen times as long. Linear work takes sixteen times as long,
quadratic work 256 times; the bound is between them, with room for caches and a logarithm. Only CPU time of this thread
counts, the least of several runs, and small amounts never fail: a busy machine does not matter. What looks like a
breach is measured again, with more runs, before it counts.
"""

import gc
import math
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass

FACTOR = 16
SIZES = (256, 4096, 65_536, 1_048_576)
"""Characters of the inputs that are tried one after the other, as long as time allows."""
SLACK = 4.5
"""A linear reader may seem slower by this much."""
SMALL_SLACK = 2.2
"""The same where the longer input is only four times as long."""
FLOOR_SECONDS = 0.06
SECONDS_PER_CHARACTER = 8e-6
"""Python that looks at every character takes a tenth of it."""
FLOOR_BYTES = 1 << 20
PATIENCE_SECONDS = 0.2
"""An input is not made longer when a linear reader would take more than this for it."""
AMPLIFICATION = 150
"""Bytes of memory for each byte of the input: objects of Python for the shortest tokens, several times over."""

Run = Callable[[], object]


@dataclass(frozen=True)
class Breach:
    what: str
    """`time` or `memory`."""
    size: int
    """Characters of the longer input."""
    measured: float
    """Seconds, or bytes."""
    allowed: float

    def __str__(self) -> str:
        unit = "s" if self.what == "time" else "bytes"
        return f"{self.what}: {self.measured:.3g} {unit} for {self.size:,} characters, {self.allowed:.3g} allowed"


def seconds(run: Run, repeats: int = 1) -> float:
    """The least CPU time of this thread."""
    best = math.inf
    was_on = gc.isenabled()
    gc.disable()
    try:
        for _ in range(repeats):
            began = time.thread_time()
            run()
            best = min(best, time.thread_time() - began)
    finally:
        if was_on:
            gc.enable()
    return best


def peak(run: Run) -> int:
    """Most bytes of Python's memory that a run holds beyond what was there."""
    tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        run()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def time_breach(
    run_of: Callable[[int], Run], largest: int, per_character: float = SECONDS_PER_CHARACTER
) -> Breach | None:
    """`run_of(n)` reads an input of n characters, made beforehand."""
    before: float | None = None
    for size in (size for size in SIZES if size <= largest):
        if before is not None and before * FACTOR > PATIENCE_SECONDS:
            return _rate_breach(run_of, size // FACTOR, per_character)
        now = seconds(run_of(size))
        if now > _allowed(before, size, per_character):
            if (breach := _again(run_of, size, per_character)) is not None:
                return breach
            now = seconds(run_of(size), 2)
        before = now
    return None


def _rate_breach(run_of: Callable[[int], Run], size: int, per_character: float) -> Breach | None:
    """Of a reader that is too slow for inputs that are sixteen times as long: by its rate, and by one four times as
    long, which takes a quadratic reader sixteen times as long.
    """
    used, allowed = seconds(run_of(size), 5), size * per_character * SLACK
    if used > allowed:
        return Breach("time", size, used, allowed)
    size, allowed = 4 * size, max(FLOOR_SECONDS, 4 * used * SMALL_SLACK)
    if (longer := seconds(run_of(size))) > allowed:
        longer = min(longer, seconds(run_of(size), 3))
    return Breach("time", size, longer, allowed) if longer > allowed else None


def _allowed(before: float | None, size: int, per_character: float) -> float:
    """By the shorter input, and by a rate that holds for every input."""
    rate = max(FLOOR_SECONDS, size * per_character)
    return rate if before is None else min(rate, max(FLOOR_SECONDS, before * FACTOR * SLACK))


def _again(run_of: Callable[[int], Run], size: int, per_character: float) -> Breach | None:
    short = seconds(run_of(size // FACTOR), 7) if size > SIZES[0] else None
    long, allowed = seconds(run_of(size)), _allowed(short, size, per_character)
    if allowed < long < 4 * allowed:
        long = min(long, seconds(run_of(size), 3))
    return Breach("time", size, long, allowed) if long > allowed else None


def memory_breach(run: Run, size: int, amplification: float = AMPLIFICATION) -> Breach | None:
    """Of an input of so many bytes."""
    allowed = max(FLOOR_BYTES, size * amplification)
    peak_bytes = peak(run)
    if peak_bytes > allowed:
        peak_bytes = min(peak_bytes, peak(run))
    return Breach("memory", size, peak_bytes, allowed) if peak_bytes > allowed else None
