"""Bounded reading of the steps' Parquet objects, which may be damaged."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow
import pyarrow.parquet as parquet

from reinforge.errors import StateConflict

MOST_BYTES = 256 << 20
MOST_DEPTH = 100
_ROWS_AT_ONCE = 32

_DAMAGE = (
    *(pyarrow.ArrowException, OSError, ValueError, TypeError, OverflowError, RecursionError),
    *(LookupError, AttributeError),
)


@contextmanager
def readable() -> Iterator[None]:
    """Convert errors of reading a file to StateConflict `step_table_damaged`."""
    try:
        yield
    except _DAMAGE as error:
        raise StateConflict(
            f"The completions of this step cannot be read: {str(error)[:300] or type(error).__name__}.",
            code="step_table_damaged",
            hint="The file that its worker stored is damaged. Other steps are not affected.",
        ) from error


@contextmanager
def opened(path: str) -> Iterator[parquet.ParquetFile]:
    with readable(), parquet.ParquetFile(path) as file:
        yield file


def row_group(file: parquet.ParquetFile, number: int, columns: Sequence[str]) -> list[dict[str, Any]]:
    """Raises ValueError beyond `MOST_BYTES`."""
    rows: list[dict[str, Any]] = []
    _check_size(file.metadata.row_group(number).total_byte_size)
    size = 0
    for batch in file.iter_batches(_ROWS_AT_ONCE, row_groups=[number], columns=list(columns)):
        size += batch.nbytes
        _check_size(size)
        rows += batch.to_pylist()
    return rows


def every_row(file: parquet.ParquetFile, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    for number in range(file.num_row_groups):
        yield from row_group(file, number, columns)


def value_of(cell: str | None, empty: str) -> Any:
    """The JSON in a cell. Raises ValueError if it is nested too deeply or JSON output cannot hold it."""
    value = json.loads(cell or empty)
    level = [value]
    for _ in range(MOST_DEPTH + 1):
        level = [below for value in level for below in _nested(value)]
    if level:
        raise ValueError(f"JSON in it is nested more than {MOST_DEPTH} times")
    if cell and "\\ud" in cell.lower():
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _nested(value: Any) -> Iterator[Any]:
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (child for child in values if isinstance(child, dict | list))


def _check_size(size: int) -> None:
    if size > MOST_BYTES:
        raise ValueError(f"the completions of one prompt take more than {MOST_BYTES >> 20} MiB")
