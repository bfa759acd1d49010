"""Parser of a jail's replies, which are untrusted: any bytes give a result or :class:`ProtocolError`."""

import functools
import json
import math
import os
import signal
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from worker.sandbox.jailed import region
from worker.sandbox.jailed.tool_texts import clean
from worker.sandbox.outcome import RowResult, RowStatus

_DAMAGED = RowResult("bad_value", message="the row's reply was damaged by the reward")
_MAX_SECONDS = 1e6


class ProtocolError(Exception):
    pass


@dataclass(frozen=True, slots=True)
class ChildRun:
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
        """Whether the child reported its end and exited with 0: a reward's ``os._exit(0)`` is not clean."""
        ended = os.WIFEXITED(self.status) and os.WEXITSTATUS(self.status) == 0
        return ended and self.cause == region.ENDED_ITSELF and self.header.finished == 1


def parse_run(
    payload: bytes,
    start: int,
    rows: int,
    output: int = region.LOG_BYTES,
    texts: region.Texts = region.REWARD_TEXTS,
) -> ChildRun:
    """Parse a reply. start: the run's first unit. output: limit of raw output in bytes. texts: limits of the
    rows' strings.
    """
    space_at = region.DONE.size + region.space_offset(rows)
    if not space_at <= len(payload) <= region.reply_cap(rows, output, texts):
        raise ProtocolError(
            f"a reply of {len(payload)} bytes for {rows} rows, expected {space_at} to "
            f"{region.reply_cap(rows, output, texts)}"
        )
    done = region.DONE.unpack_from(payload)
    first, count, status, cause, progress, cpu, _, unit_wall, used, log_size = done
    if (
        (first, count) != (start, rows)
        or cause > region.OUTPUT_FLOOD
        or progress > region.RUNNING
        or status > 0xFFFF
    ):
        raise ProtocolError("the reply belongs to another run")
    log_at = space_at + used
    if log_size > output or len(payload) != log_at + log_size:
        raise ProtocolError("the reply's length does not fit its contents")
    header = region.Header._make(region.HEADER.unpack_from(payload, region.DONE.size))
    space = payload[space_at:log_at]
    results: list[RowResult | None] = []
    prints: list[str] = []
    slots_at = region.DONE.size + region.slot_offset(0)
    for fields in region.SLOT.iter_unpack(payload[slots_at:space_at]):
        slot = region.RowSlot._make(fields)
        window = slot.used(texts)
        if window is None or slot.at + sum(window) > used:
            prints.append("")
            results.append(_DAMAGED if slot.status else None)
            continue
        tail_at = slot.at + window[0]
        numbers_at = tail_at + window[1]
        printed = clean_text(space[slot.at : tail_at]) if window[0] else ""
        prints.append(printed)
        numbers = _doubles(window[2] // 8).unpack_from(space, numbers_at)
        row = _row(slot, printed, space[tail_at:numbers_at], numbers, texts) if slot.status else None
        results.append(row)
    return ChildRun(
        status, cause, progress, header, results, prints, _seconds(cpu), _seconds(unit_wall), payload[log_at:]
    )


def end_of_child(
    run: ChildRun, budget: float, call_seconds: float, what: str = "reward"
) -> tuple[RowStatus, str]:
    if run.cause == region.UNIT_TIMEOUT:
        return "timeout", f"the {what} took longer than {budget:g} s"
    if run.cause == region.CALL_DEADLINE:
        return "deadline", f"the {what} call exceeded its time limit of {call_seconds:g} s"
    if run.cause == region.OUTPUT_FLOOD:
        return "output_flood", f"the {what} wrote more than {region.FLOOD_BYTES >> 20} MiB"
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


def parse_columns(text: str | None) -> dict[str, list[str]]:
    try:
        columns_by_function = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    if not isinstance(columns_by_function, dict):
        return {}
    return {
        name: columns
        for name, columns in columns_by_function.items()
        if isinstance(columns, list) and all(isinstance(column, str) for column in columns)
    }


def clean_text(raw: bytes) -> str:
    if not raw:
        return ""
    text = raw.decode("utf-8", "replace")
    return text if text.isprintable() else "".join(c if c.isprintable() or c in "\n\t" else " " for c in text)


def tool_text(raw: bytes) -> str:
    """A tool's result as text, without the characters that tokenizers or databases refuse."""
    return clean(raw.decode("utf-8", "replace"))


def _row(
    slot: region.RowSlot, prints: str, tail: bytes, numbers: tuple[float, ...], texts: region.Texts
) -> RowResult:
    if slot.status > len(_STATUSES) or not _bounded((slot.score, *numbers)):
        return _DAMAGED
    status = _STATUSES[slot.status - 1]
    parts_end, steps_at = slot.part_names, slot.parts + slot.criteria
    reason_at = parts_end + slot.criteria_names
    message_at = reason_at + slot.reason
    part_names = _names(tail[:parts_end], slot.parts) if parts_end or slot.parts else ()
    named = slot.criteria_names or slot.criteria
    criteria_names = _names(tail[parts_end:reason_at], slot.criteria) if named else ()
    steps = _steps(numbers[steps_at : steps_at + 2 * slot.steps]) if slot.steps else []
    turns_at = len(numbers) - 2 * slot.turns
    turns = _steps(numbers[turns_at:]) if slot.turns else []
    if part_names is None or criteria_names is None or steps is None or turns is None:
        return _DAMAGED
    read = tool_text if texts is region.TOOL_TEXTS else clean_text
    vectors = numbers[steps_at + 2 * slot.steps : turns_at]
    return RowResult(
        status,
        slot.score if status == "ok" else None,
        dict(zip(part_names, numbers, strict=False)),
        steps,
        dict(zip(criteria_names, numbers[slot.parts : steps_at], strict=True)) if criteria_names else {},
        [list(vectors[i * slot.width : (i + 1) * slot.width]) for i in range(slot.candidates)]
        if vectors
        else [],
        read(tail[reason_at:message_at]) or None if slot.reason else None,
        prints,
        clean_text(tail[message_at:]) or None if slot.message else None,
        1000 * _seconds(slot.wall),
        1000 * _seconds(slot.cpu),
        turns=turns,
    )


@functools.cache
def _doubles(count: int) -> struct.Struct:
    return struct.Struct(f"<{count}d")


def _bounded(numbers: tuple[float, ...]) -> bool:
    most = region.MAX_MAGNITUDE
    return max(numbers) <= most and min(numbers) >= -most and math.isfinite(sum(numbers))


_STATUSES: tuple[RowStatus, ...] = ("ok", "not_applicable", "exception", "bad_value", "memory")


@functools.lru_cache(1024)
def _names(raw: bytes, count: int) -> Sequence[str] | None:
    text = raw.decode("utf-8", "replace")
    names = text.split("\0")
    if names.pop() or len(names) != count or len(set(names)) != count or not all(names):
        return None
    return names if "".join(names).isprintable() else None


def _steps(numbers: tuple[float, ...]) -> list[tuple[float, int]] | None:
    ends = numbers[1::2]
    if any(end < 0 or end > 2**53 or end != int(end) for end in ends):
        return None
    return [(number, int(end)) for number, end in zip(numbers[::2], ends, strict=True)]


def _seconds(value: float) -> float:
    return min(max(value, 0.0), _MAX_SECONDS) if math.isfinite(value) else 0.0
