"""Format detection, and readers of all formats."""

from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import orjson

from reinforge.dataset.errors import DatasetError
from reinforge.dataset.errors import Path as ValuePath
from reinforge.dataset.faults import OnFault, raise_fault
from reinforge.dataset.formats import csv_rows, jsonl, parquet
from reinforge.dataset.limits import DatasetLimits
from reinforge.dataset.numbers import with_numbers
from reinforge.dataset.rows import Row, SourceRow

Format = Literal["jsonl", "csv", "parquet"]


@dataclass(frozen=True, slots=True)
class Reader:
    read: Callable[[Path, DatasetLimits, OnFault], Iterator[SourceRow]]
    place: Callable[[SourceRow, ValuePath], tuple[int, int | None]]
    """(line, column) of a value inside a row."""


READERS: dict[Format, Reader] = {
    "jsonl": Reader(jsonl.read, jsonl.place),
    "csv": Reader(csv_rows.read, csv_rows.place),
    "parquet": Reader(parquet.read, parquet.place),
}

_SUFFIXES: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_PARQUET = b"PAR1"
_PARQUET_WITH_METADATA = b"PAR1\x15"  # "PAR1" alone may begin the header of a CSV
_FOREIGN = (
    (b"PK\x03\x04", "a ZIP archive (or an Excel or Word file)"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\x1f\x8b", "gzip-compressed"),
    (b"\xfd7zXZ\x00", "xz-compressed"),
    (b"\x28\xb5\x2f\xfd", "Zstandard-compressed"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"%PDF-", "a PDF document"),
    (b"ARROW1\x00\x00", "an Arrow (Feather) file"),
    (b"Obj\x01", "an Avro file"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"\x7fELF", "a program"),
    (b"\xd0\xcf\x11\xe0", "an old Excel or Word file"),
    (b"\x80\x02", "a Python pickle"),
    (b"\x80\x03", "a Python pickle"),
    (b"\x80\x04", "a Python pickle"),
    (b"\x80\x05", "a Python pickle"),
)


def detect_format(path: Path, filename: str | None = None) -> Format:
    name = filename or path.name
    named = _SUFFIXES.get(Path(name).suffix.lower())
    with path.open("rb") as file:
        head = file.read(4096)
    if not head:
        raise empty_file(name)
    if head.startswith(_PARQUET if named == "parquet" else _PARQUET_WITH_METADATA):
        if named not in (None, "parquet"):
            hint = "Rename it to end in .parquet."
            raise _wrong(f"{name} is a Parquet file.", hint)
        return "parquet"
    if (what := _foreign(head)) is not None:
        raise _wrong(
            f"{name} is {what}, not a dataset.", "Unpack or convert it to JSONL, CSV or Parquet first."
        )
    if named == "parquet":
        raise _wrong(
            f"{name} is not a Parquet file: it does not begin with PAR1.", "Check what was exported."
        )
    if named is not None:
        return named
    if head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
        return "jsonl"
    raise DatasetError(
        f"The format of {name} cannot be recognised.",
        code="unknown_format",
        line=1,
        column=1,
        hint="Use a file name that ends in .jsonl, .csv, .tsv or .parquet.",
    )


def read_source(path: Path, format: Format, limits: DatasetLimits) -> Iterator[SourceRow]:
    return READERS[format].read(path, limits, raise_fault)


def iter_rows(
    path: Path | str,
    format: Format | None = None,
    limits: DatasetLimits | None = None,
    *,
    numbers: Collection[str] = (),
) -> Iterator[Row]:
    """Stream rows. `numbers`: columns of CSV whose cells are numbers. Raises DatasetError at the first fault."""
    path = Path(path)
    for row in read_source(path, format or detect_format(path), limits or DatasetLimits()):
        yield with_numbers(row.value, numbers)


def iter_accepted(path: Path, format: Format) -> Iterator[Row]:
    if format != "jsonl":
        yield from iter_rows(path, format)
        return
    with path.open("rb") as file:
        for number, line in enumerate(file):
            if line := (line.removeprefix(BOM_UTF8) if number == 0 else line).strip():
                yield orjson.loads(line)


def empty_file(name: str) -> DatasetError:
    hint = "A dataset needs at least one row."
    return DatasetError(f"{name} has no rows.", code="empty_file", line=1, column=1, hint=hint)


def _foreign(head: bytes) -> str | None:
    if head[257:262] == b"ustar":
        return "a tar archive"
    if head.startswith(b"BZh") and head[4:10] == b"1AY&SY":
        return "bzip2-compressed"
    return next((what for magic, what in _FOREIGN if head.startswith(magic)), None)


def _wrong(message: str, hint: str) -> DatasetError:
    return DatasetError(message, code="wrong_format", line=1, column=1, hint=hint)
