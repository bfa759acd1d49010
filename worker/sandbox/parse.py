"""Reads what comes back from a jail. Nothing in it is trusted, nothing in it is interpreted.

Whatever the bytes, the outcome is a status of the closed set or :class:`ProtocolError`; texts are decoded with
replacement and stripped of control characters; numbers are finite and bounded.
"""

import math
import os
import signal
import struct
from dataclasses import dataclass

from .jailed import region
from .outcome import RowResult, RowStatus

_DAMAGED = RowResult("bad_value", message="the row's reply was damaged by the reward")
_MAX_SECONDS = 1e6


class ProtocolError(Exception):
    """The reply does not have the shape the trusted zygote gives it."""


@dataclass(frozen=True, slots=True)
class Run:
    """One child's life: how it ended, how far it came, and what it left per row (None: nothing valid yet)."""

    status: int
    cause: int
    progress: int
    header: region.Header
    rows: list[RowResult | None]
    prints: list[str]
    cpu: float
    unit_wall: float
    log: bytes

    @property
    def clean(self) -> bool:
        """The child said it was done and ended with code 0: ``os._exit(0)`` in a reward is not clean."""
        ended = os.WIFEXITED(self.status) and os.WEXITSTATUS(self.status) == 0
        return ended and self.cause == region.ENDED_ITSELF and self.header.finished == 1


def parse_run(payload: bytes, start: int, rows: int, output: int = region.LOG_BYTES) -> Run:
    """Read the reply to a run that began at unit ``start`` of a call of ``rows`` rows.

    output: bytes of raw output it may hold.
    """
    fixed = region.DONE.size + region.HEADER.size + rows * region.SLOT.size
    if not fixed <= len(payload) <= region.reply_cap(rows, output):
        raise ProtocolError(f"a reply of {len(payload)} bytes for {rows} rows")
    done = region.DONE.unpack_from(payload)
    first, count, status, cause, progress, cpu, _, unit_wall, log_size = done
    if (
        (first, count) != (start, rows)
        or cause > region.OUTPUT_FLOOD
        or progress > region.RUNNING
        or status > 0xFFFF
    ):
        raise ProtocolError("the reply belongs to another run")
    header = region.Header._make(region.HEADER.unpack_from(payload, region.DONE.size))
    at = region.DONE.size + region.HEADER.size
    slots = [region.Slot._make(fields) for fields in region.SLOT.iter_unpack(payload[at:fixed])]
    windows = [slot.used() for slot in slots]
    if log_size > output or len(payload) != fixed + sum(map(sum, filter(None, windows))) + log_size:
        raise ProtocolError("the reply's length does not fit its contents")
    results: list[RowResult | None] = []
    prints: list[str] = []
    at = fixed
    for slot, window in zip(slots, windows, strict=True):
        if window is None:
            prints.append("")
            results.append(_DAMAGED if slot.status else None)
            continue
        tail_at, numbers_at = at + window[0], at + window[0] + window[1]
        prints.append(clean_text(payload[at:tail_at]))
        at = numbers_at + window[2]
        numbers = struct.unpack_from(f"<{window[2] // 8}d", payload, numbers_at)
        results.append(_row(slot, prints[-1], payload[tail_at:numbers_at], numbers))
    return Run(
        status, cause, progress, header, results, prints, _seconds(cpu), _seconds(unit_wall), payload[at:]
    )


def end_of_child(run: Run, budget: float, call_seconds: float, what: str = "reward") -> tuple[RowStatus, str]:
    """Status and text for the row at which a child ended without saying it was done; ``what`` it ran."""
    if run.cause == region.UNIT_TIMEOUT:
        return "timeout", f"longer than {budget:g} s"
    if run.cause == region.CALL_DEADLINE:
        return "deadline", f"the {what} call ran past its {call_seconds:g} s"
    if run.cause == region.OUTPUT_FLOOD:
        return "output_flood", f"the reward wrote more than {region.FLOOD_BYTES >> 20} MiB"
    if os.WIFSIGNALED(run.status):
        number = os.WTERMSIG(run.status)
        if number == signal.SIGXCPU:
            return "cpu_limit", f"the {what} used up its CPU time"
        try:
            name = signal.Signals(number).name
        except ValueError:
            name = f"signal {number}"
        hint = " (the machine may have run out of memory)" if number == signal.SIGKILL else ""
        return "crashed", f"the {what}'s process died of {name}{hint}"
    return "exited", f"the {what} ended its process with code {os.WEXITSTATUS(run.status)}"


def clean_text(raw: bytes) -> str:
    """UTF-8 with replacement; control and other unprintable characters become spaces."""
    if not raw:
        return ""
    text = raw.decode("utf-8", "replace")
    return text if text.isprintable() else "".join(c if c.isprintable() or c in "\n\t" else " " for c in text)


def _row(slot: region.Slot, prints: str, tail: bytes, numbers: tuple[float, ...]) -> RowResult | None:
    if slot.status == 0:
        return None
    if slot.status > len(_STATUSES) or not all(map(math.isfinite, (slot.score, *numbers))):
        return _DAMAGED
    status = _STATUSES[slot.status - 1]
    reason_at = slot.part_names + slot.criteria_names
    part_names = _names(tail[: slot.part_names], slot.parts)
    criteria_names = _names(tail[slot.part_names : reason_at], slot.criteria)
    steps_at = slot.parts + slot.criteria
    steps = _steps(numbers[steps_at : steps_at + 2 * slot.steps])
    if part_names is None or criteria_names is None or steps is None:
        return _DAMAGED
    vectors = numbers[steps_at + 2 * slot.steps :]
    scores = (slot.score, *numbers[:steps_at], *(number for number, _ in steps), *vectors)
    if max(map(abs, scores)) > region.MAX_MAGNITUDE:
        return _DAMAGED
    return RowResult(
        status=status,
        value=slot.score if status == "ok" else None,
        parts=dict(zip(part_names, numbers, strict=False)),
        criteria=dict(zip(criteria_names, numbers[slot.parts : steps_at], strict=True)),
        steps=steps,
        candidates=[list(vectors[i * slot.width : (i + 1) * slot.width]) for i in range(slot.candidates)],
        reason=clean_text(tail[reason_at : reason_at + slot.reason]) or None,
        prints=prints,
        message=clean_text(tail[reason_at + slot.reason :]) or None,
        wall_ms=1000 * _seconds(slot.wall),
        cpu_ms=1000 * _seconds(slot.cpu),
    )


_STATUSES: tuple[RowStatus, ...] = ("ok", "not_applicable", "exception", "bad_value", "memory")
"""By code - 1, as in ``region.STATUS_CODES``."""


def _names(raw: bytes, count: int) -> list[str] | None:
    """Exactly ``count`` different printable names, each ended by NUL; else None."""
    if not raw and not count:
        return []
    names = raw.decode("utf-8", "replace").split("\0")
    if names.pop() or len(names) != count or len(set(names)) != count:
        return None
    return names if all(names) and all(map(str.isprintable, names)) else None


def _steps(numbers: tuple[float, ...]) -> list[tuple[float, int]] | None:
    ends = numbers[1::2]
    if any(end < 0 or end > 2**53 or end != int(end) for end in ends):
        return None
    return [(number, int(end)) for number, end in zip(numbers[::2], ends, strict=True)]


def _seconds(value: float) -> float:
    return min(max(value, 0.0), _MAX_SECONDS) if math.isfinite(value) else 0.0
