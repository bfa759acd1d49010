"""Row type shared by all readers, and its hash."""

import hashlib
from dataclasses import dataclass
from typing import Any

import orjson

Row = dict[str, Any]
"""Column name → JSON value: None, bool, int (signed 64 bit), finite float, str, list or dict of these."""


@dataclass(frozen=True, slots=True)
class SourceRow:
    line: int
    """1-based line where the row begins; for Parquet the row's number."""
    value: Row
    text: str | None
    """The row as it stands in the file, kept to point at a fault; None for Parquet."""


def canonical(value: Any) -> bytes:
    """A JSON value as bytes that depend on its content only, not on the order of keys."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def row_hash(value: Any) -> str:
    """SHA-256 (hex) of a row or any JSON value (such as a prompt's messages), whatever the order of keys."""
    return hashlib.sha256(canonical(value)).hexdigest()
