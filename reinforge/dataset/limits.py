"""Limits that bound the memory and time of a hostile file."""

from dataclasses import dataclass

from reinforge.dataset.errors import DatasetTooLarge

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class DatasetLimits:
    max_bytes: int = 4096 * MIB
    max_row_bytes: int = 8 * MIB
    """Maximum size of a JSONL line, a CSV record, or a Parquet row as JSON."""
    max_rows: int = 20_000_000
    max_decoded_bytes: int = 8192 * MIB
    """Maximum size of all rows as JSON. Only compressed Parquet can exceed it."""
    max_columns: int = 1000
    max_depth: int = 64


def inspection_seconds(size: int) -> float:
    return 900.0 + size / (4 * MIB)


def readable(size: int) -> str:
    """Format a size: `1536` → `1.5 KiB`."""
    value = float(size)
    for unit in ("bytes", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.4g} {unit}"
        value /= 1024
    return f"{value:.4g} GiB"


def row_too_large(line: int, text: str | None, limits: DatasetLimits) -> DatasetTooLarge:
    return DatasetTooLarge(
        f"This row is larger than {readable(limits.max_row_bytes)}, the limit for one row.",
        code="row_too_large",
        line=line,
        column=None if text is None else 1,
        hint="One row is one prompt. Is the whole file on one line? Write one JSON object per line.",
        text=text,
    )


def too_many_columns(count: int, limits: DatasetLimits, line: int | None = None) -> DatasetTooLarge:
    return DatasetTooLarge(
        f"The dataset has {count} columns; the limit is {limits.max_columns}.",
        code="too_many_columns",
        line=line,
        hint="Are values used as keys? Put them into one column that holds an object.",
    )


def too_many_rows(limits: DatasetLimits, line: int | None = None) -> DatasetTooLarge:
    most = f"{limits.max_rows:,} rows or {readable(limits.max_decoded_bytes)} of data"
    return DatasetTooLarge(
        f"The dataset has more than {most}.",
        code="too_many_rows",
        line=line,
        hint="Sample it: training sees prompts_per_step × steps rows.",
    )
