"""Bounded reading of Parquet files that may be damaged or hostile."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow.parquet as parquet

MOST_BYTES = 256 << 20
_ROWS_AT_ONCE = 32


def row_group(file: parquet.ParquetFile, number: int, columns: Sequence[str]) -> list[dict[str, Any]]:
    """Rows of one row group. Raises ValueError if they take more than `MOST_BYTES`."""
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


def _check_size(size: int) -> None:
    if size > MOST_BYTES:
        raise ValueError(f"the completions of one prompt take more than {MOST_BYTES >> 20} MiB")
