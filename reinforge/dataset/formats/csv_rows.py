"""CSV with a header line, split at commas, tabs or semicolons. Every cell is a string, since guessing types changes
data ("007").
"""

import csv
from collections.abc import Iterator
from pathlib import Path

from reinforge.dataset.errors import DatasetError
from reinforge.dataset.errors import Path as ValuePath
from reinforge.dataset.faults import OnFault, raise_fault
from reinforge.dataset.formats.text import text_lines
from reinforge.dataset.limits import DatasetLimits, row_too_large, too_many_columns
from reinforge.dataset.rows import SourceRow

_QUOTING = (
    'A field with quotes or line breaks stands in double quotes; a quote inside is doubled: "say ""hi""".'
)


def read(path: Path, limits: DatasetLimits, on_fault: OnFault = raise_fault) -> Iterator[SourceRow]:
    source = _Source(path, limits, on_fault)
    # The csv module's limit is global and for one field; `_Source` bounds the whole record before that.
    csv.field_size_limit(max(csv.field_size_limit(), 2 * limits.max_row_bytes))
    header: list[str] = []
    reader = csv.reader(source, delimiter=source.delimiter, strict=True)
    while True:
        source.start_record()
        try:
            cells = next(reader, None)
        except csv.Error as error:
            source.refuse(_malformed(source, str(error)), isolated=source.is_isolated() and bool(header))
            continue
        if cells is None:
            return
        if not cells:
            continue
        if not header:
            _check_header(cells, source)
            header = cells
            source.has_header = True
        elif len(cells) != len(header):
            source.refuse(_ragged(header, cells, source), isolated=True)
        else:
            yield SourceRow(source.first_line, dict(zip(header, cells, strict=True)), source.text())


def place(row: SourceRow, path: ValuePath) -> tuple[int, int | None]:
    text = row.text or ""
    index = list(row.value).index(str(path[0])) if path and path[0] in row.value else 0
    for delimiter in ",\t;":
        starts, _ = field_starts(text, delimiter)
        if len(starts) == len(row.value):
            return _position(text, starts[index], row.line)
    return row.line, 1


class _Source:
    def __init__(self, path: Path, limits: DatasetLimits, on_fault: OnFault) -> None:
        self._path = path
        self.limits = limits
        self._lines = text_lines(path, limits, self._on_bad_line)
        self._on_fault = on_fault
        self.has_header = False
        self._held: list[str] = []
        self._size = 0
        self.first_line = 0
        self.delimiter = self._sniff_delimiter()

    def start_record(self) -> None:
        self._held.clear()
        self._size = 0

    def is_isolated(self) -> bool:
        """Whether the record is one line with all its quotes closed."""
        return len(self._held) == 1 and self._held[0].count('"') % 2 == 0

    def refuse(self, fault: DatasetError, *, isolated: bool) -> None:
        """Reports the fault of a record, or raises it if it is unclear where the next record begins."""
        if not isolated:
            raise fault
        self._on_fault(fault, self.first_line, len(self._held), self._size)

    def _on_bad_line(self, fault: DatasetError, raw: bytes) -> None:
        if self._held or not self.has_header or raw.count(b'"') % 2:
            raise fault
        assert fault.line is not None
        self._on_fault(fault, fault.line, 1, len(raw))

    def __iter__(self) -> Iterator[str]:
        for number, line in self._lines:
            if not self._held:
                self.first_line = number
            self._held.append(line)
            self._size += len(line)
            if self._size > self.limits.max_row_bytes:
                raise self._too_large()
            yield line

    def _too_large(self) -> DatasetError:
        _, fault = field_starts(self.text(), self.delimiter)
        if fault is not None:
            return _malformed(self, "a record does not end")
        return row_too_large(self.first_line, self._held[0], self.limits)

    def text(self) -> str:
        return "".join(self._held)

    def _sniff_delimiter(self) -> str:
        header = next((line for _, line in text_lines(self._path, self.limits) if line.strip()), "")
        unquoted = "".join(header.split('"')[::2])
        return next((delimiter for delimiter in ",\t;" if delimiter in unquoted), ",")


def field_starts(record: str, delimiter: str) -> tuple[list[int], int | None]:
    body = record.removesuffix("\n").removesuffix("\r")
    starts, at = [0], 0
    while True:
        if body.startswith('"', at):
            close = body.find('"', at + 1)
            while body.startswith('""', close):
                close = body.find('"', close + 2)
            if close < 0:
                return starts, at
            at = close + 1
            if at < len(body) and body[at] != delimiter:
                return starts, at
        next_delimiter = body.find(delimiter, at)
        end = len(body) if next_delimiter < 0 else next_delimiter
        if (carriage_return := body.find("\r", at, end)) >= 0:
            return starts, carriage_return
        if next_delimiter < 0:
            return starts, None
        at = next_delimiter + 1
        starts.append(at)


def _position(record: str, offset: int, first_line: int) -> tuple[int, int]:
    before = record[:offset]
    return first_line + before.count("\n"), offset - (before.rfind("\n") + 1) + 1


def _line_of(record: str, offset: int) -> str:
    start = record.rfind("\n", 0, offset) + 1
    return record[start:].partition("\n")[0]


def _fault(source: _Source, offset: int, code: str, message: str, hint: str) -> DatasetError:
    record = source.text()
    line, column = _position(record, offset, source.first_line)
    return DatasetError(
        message, code=code, line=line, column=column, hint=hint, text=_line_of(record, offset)
    )


def _malformed(source: _Source, error: str) -> DatasetError:
    record = source.text()
    _, offset = field_starts(record, source.delimiter)
    if offset is not None and record.startswith('"', offset):
        message = "The quote that opens here is never closed."
    elif offset is not None and record[offset] != "\r":
        message = "A quoted field ended just before this; only a delimiter may follow."
        if offset > 0 and "\n" in record[:offset]:
            message += f" The row begins on line {source.first_line}."
    elif offset is not None:
        message = "There is a carriage return outside quotes. Lines end in LF or CRLF."
    else:
        message = f"Not valid CSV: {error}."
    return _fault(source, offset or 0, "invalid_csv", message, _QUOTING)


def _check_header(header: list[str], source: _Source) -> None:
    if len(header) > source.limits.max_columns:
        raise too_many_columns(len(header), source.limits, source.first_line)
    starts, _ = field_starts(source.text(), source.delimiter)
    names: set[str] = set()
    for index, name in enumerate(header):
        if name in names:
            message = f'The column "{name[:80]}" appears twice in the header.'
            raise _fault(source, starts[index], "duplicate_column", message, "Rename or remove one of them.")
        if not name.strip():
            message = f"Column {index + 1} has no name in the header."
            hint = "Name it. pandas writes such a column for its index: use to_csv(path, index=False)."
            raise _fault(source, starts[index], "unnamed_column", message, hint)
        names.add(name)


def _ragged(header: list[str], cells: list[str], source: _Source) -> DatasetError:
    record = source.text()
    starts, _ = field_starts(record, source.delimiter)
    extra = len(cells) > len(header) and len(starts) > len(header)
    offset = starts[len(header)] if extra else len(record.rstrip("\r\n"))
    message = f"This row has {_count(len(cells))}, the header has {len(header)}."
    hint = f"A field that contains {source.delimiter!r} has to stand in double quotes." if extra else _QUOTING
    return _fault(source, offset, "ragged_row", message, hint)


def _count(fields: int) -> str:
    return "1 field" if fields == 1 else f"{fields} fields"
