"""Writes row outcomes into the shared region, which untrusted code in the same process may
corrupt.
"""

import io
import struct
import time
from collections.abc import Collection, Iterable
from itertools import chain
from mmap import mmap

from . import region
from .values import Converted

_UNCOUNTED_PRINTS = 64 << 10
_U32, _TWO_U32 = struct.Struct("<I"), struct.Struct("<II")
_NOTHING = Converted()


def clip(text: str, size: int) -> bytes:
    raw = text[:size].encode("utf-8", "replace")
    return raw if len(raw) <= size else raw[:size].decode("utf-8", "ignore").encode()


class Report:
    def __init__(self, shared: mmap, rows: int, texts: region.Texts = region.REWARD_TEXTS) -> None:
        self._shared, self._texts = shared, texts
        self._space = region.space_offset(rows)
        self._at = 0
        self._printing: int | None = None
        self._stored_bytes = 0
        self._printed_bytes = 0
        self._state, self._unit, self._line, self._column = region.LOADING, 0, 0, 0
        self._clocks = time.monotonic(), time.thread_time()

    def begin(self, unit: int, row: int) -> tuple[float, float]:
        self._printing, self._stored_bytes, self._printed_bytes = row, 0, 0
        self._state, self._unit = region.LOADED, unit
        self._clocks = clocks = time.monotonic(), time.thread_time()
        region.HEADER.pack_into(self._shared, 0, region.LOADED, unit, 0, 0, 0, *clocks, self._at)
        return clocks

    def finish(self) -> None:
        place = self._line, self._column
        region.HEADER.pack_into(self._shared, 0, self._state, self._unit, *place, 1, *self._clocks, self._at)

    def load_failed(self, message: str, line: int | None, column: int | None) -> None:
        self.row(0, "exception", message=message)
        self._state, self._line, self._column = region.LOAD_FAILED, line or 0, column or 0
        self.finish()

    def needs(self, modules: Iterable[str]) -> None:
        self.row(0, "ok", value=Converted(criteria=dict.fromkeys(modules, 1.0)))
        self._state = region.NEEDS
        self.finish()

    def row(
        self,
        row: int,
        status: str,
        *,
        value: Converted | None = None,
        message: str = "",
        wall: float = 0.0,
        cpu: float = 0.0,
    ) -> None:
        """Save one row's outcome, its slot last, so that a half-written row is ignored."""
        value = value or _NOTHING
        parts, criteria = _names(value.parts), _names(value.criteria)
        reason = clip(value.reason, self._texts.reason) if value.reason else b""
        text = clip(message, self._texts.message) if message else b""
        numbers = [*value.parts.values(), *value.criteria.values()]
        if value.steps or value.candidates or value.turns:
            pairs = (value.steps, value.candidates, value.turns)
            numbers += chain.from_iterable(chain.from_iterable(some) for some in pairs)
        contents = b"".join((parts, criteria, reason, text, struct.pack(f"<{len(numbers)}d", *numbers)))
        prints = self._stored_bytes if row == self._printing else 0
        self._printing = None
        place, start = self._at, self._space + self._at + prints
        self._shared[start : start + len(contents)] = contents
        self._at += prints + len(contents)
        region.SLOT.pack_into(
            self._shared, region.slot_offset(row), region.STATUS_CODES[status], len(value.parts), len(value.criteria),
            len(value.steps), len(value.candidates), len(value.candidates[0]) if value.candidates else 0,
            len(parts), len(criteria), len(reason), len(text), prints, place, len(value.turns), value.score, wall, cpu,
        )  # fmt: skip
        _U32.pack_into(self._shared, region.USED_OFFSET, self._at)

    def prints(self, data: bytes) -> bool:
        """Save what a row prints. False if it must go to the log: before the first row or past 64 KiB."""
        if self._printing is None:
            return False
        self._printed_bytes += len(data)
        stored = data[: region.PRINTS_BYTES - self._stored_bytes]
        start = self._space + self._at + self._stored_bytes
        self._shared[start : start + len(stored)] = stored
        self._stored_bytes += len(stored)
        at = region.slot_offset(self._printing) + region.PRINTS_OFFSET
        _TWO_U32.pack_into(self._shared, at, self._stored_bytes, self._at)
        _U32.pack_into(self._shared, region.USED_OFFSET, self._at + self._stored_bytes)
        return self._printed_bytes <= _UNCOUNTED_PRINTS


class Prints(io.RawIOBase):
    def __init__(self, report: Report, fallback: int) -> None:
        super().__init__()
        self._report = report
        self._fallback = io.FileIO(fallback, "w", closefd=False)

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        raw = bytes(data)  # type: ignore[call-overload]
        if not self._report.prints(raw):
            self._fallback.write(raw)
        return len(raw)


def _names(named: Collection[str]) -> bytes:
    return b"".join([clip(name, region.NAME_BYTES) + b"\0" for name in named]) if named else b""
