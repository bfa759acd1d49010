"""Row type of all readers, and its hash."""

import hashlib
from dataclasses import dataclass
from typing import Any

import orjson

Row = dict[str, Any]
"""Column name → JSON value: None, bool, int (64 bit), finite float, str, list or dict."""


@dataclass(frozen=True, slots=True)
class SourceRow:
    line: int
    """1-based first line of the row; for Parquet the row number."""
    value: Row
    text: str | None
    """The row as in the file; None for Parquet."""


def canonical(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def row_hash(value: Any) -> str:
    return hashlib.sha256(canonical(value)).hexdigest()
