"""Collects the faults of a file's rows, with bounded memory."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from reinforge.dataset.errors import DatasetError
from reinforge.dataset.rows import SourceRow

OnFault = Callable[[DatasetError, int, int, int], None]
"""Called with (fault, first line of the bad row, number of its lines, number of its characters). Raises to
end reading.
"""

LISTED = 20
MOST_BAD_ROWS = 10_000
MOST_BAD_CHARACTERS = 32 * 1024 * 1024
"""Characters of bad rows after which the file is not read further: locating faults is slow."""


class Faults:
    def __init__(self) -> None:
        self.bad_rows: dict[int, int] = {}
        self.listed: list[dict[str, Any]] = []
        self._first: DatasetError | None = None
        self._characters = 0
        self._is_complete = True

    def add(self, fault: DatasetError, first_line: int, lines: int, characters: int) -> None:
        self._list(fault)
        self.bad_rows[first_line] = lines
        self._characters += characters
        if len(self.bad_rows) >= MOST_BAD_ROWS or self._characters > MOST_BAD_CHARACTERS:
            self._is_complete = False
            raise fault

    def end(self, fault: DatasetError) -> None:
        if self._is_complete:
            self._is_complete = False
            self._list(fault)

    def check(self, good_rows: int) -> None:
        """Raise the first fault, with the others in `errors` and their count in `faults`."""
        if self._first is None:
            return
        if self.bad_rows:
            self._first.errors, self._first.bad_rows = self.listed, self.bad_rows
            self._first.faults = {
                "bad_rows": len(self.bad_rows),
                "good_rows": good_rows,
                "skippable": self._is_complete and good_rows > 0,
            }
        raise self._first

    def _list(self, fault: DatasetError) -> None:
        self._first = self._first or fault
        if len(self.listed) < LISTED:
            self.listed += fault.errors


def raise_fault(fault: DatasetError, first_line: int, lines: int, characters: int) -> NoReturn:
    raise fault


def without_lines(path: Path, to: Path, bad_rows: dict[int, int]) -> None:
    with path.open("rb") as source, to.open("wb") as target:
        remaining = 0
        for number, line in enumerate(source, 1):
            remaining = max(remaining, bad_rows.get(number, 0))
            if remaining:
                remaining -= 1
            else:
                target.write(line)


def uploaded_lines(rows: Iterable[SourceRow], bad_rows: Mapping[int, int]) -> Iterator[SourceRow]:
    remaining = iter(bad_rows.items())
    bad = next(remaining, None)
    removed = 0
    for row in rows:
        while bad is not None and bad[0] <= row.line + removed:
            removed += bad[1]
            bad = next(remaining, None)
        yield replace(row, line=row.line + removed) if removed else row
