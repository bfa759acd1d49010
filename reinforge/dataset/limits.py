"""How large a dataset may be. Every limit bounds memory or time of reading, so reading a hostile file ends early."""

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    max_bytes: int = 512 * MIB
    """Size of the file."""
    max_row_bytes: int = 8 * MIB
    """Size of one row: a line of JSONL, a record of CSV, a Parquet row written as JSON."""
    max_rows: int = 20_000_000
    max_decoded_bytes: int = 8192 * MIB
    """Size of all rows written as JSON. Only Parquet, which is compressed, can get there."""
    max_columns: int = 1000
    max_depth: int = 64
    """Levels of lists and objects inside a row; the row itself is the first."""


def readable(size: int) -> str:
    """`1536` → `1.5 KiB`."""
    value = float(size)
    for unit in ("bytes", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.4g} {unit}"
        value /= 1024
    return f"{value:.4g} GiB"
