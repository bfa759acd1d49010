"""Reads the steps' Parquet objects with limits. Damaged ones raise StateConflict `step_table_damaged`."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow
import pyarrow.parquet as parquet

from reinforge.errors import StateConflict
from reinforge.parsing.parquet_rows import MOST_BYTES, every_row, row_group

__all__ = ["MOST_BYTES", "every_row", "opened", "readable", "row_group", "value_of"]

MOST_DEPTH = 100

_DAMAGE = (
    *(pyarrow.ArrowException, OSError, ValueError, TypeError, OverflowError, RecursionError),
    *(LookupError, AttributeError),
)


@contextmanager
def readable() -> Iterator[None]:
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


def value_of(cell: str | None, empty: str) -> Any:
    value = json.loads(cell or empty)
    level = [value]
    for _ in range(MOST_DEPTH + 1):
        level = [below for value in level for below in _nested(value)]
    if level:
        raise ValueError(f"its JSON is nested more than {MOST_DEPTH} levels deep")
    if cell and "\\ud" in cell.lower():
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _nested(value: Any) -> Iterator[Any]:
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (child for child in values if isinstance(child, dict | list))
