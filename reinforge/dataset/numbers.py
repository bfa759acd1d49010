"""Numbers among the cells of a CSV file.

A cell is a number only if its text is the standard form of the number: `007`, `1.50` and `1e5` stay text.
A column holds numbers if all its cells do.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from reinforge.dataset.rows import Row

TEXT_COLUMNS = frozenset({"prompt", "messages", "tools"})
MOST_CHARACTERS = 24
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(\.[0-9]{1,16})?\Z")


def number_of(text: str) -> int | float | None:
    """Number in a cell: `"125"` → 125, `"0.5"` → 0.5, `"007"` → None."""
    kind = kind_of(text)
    return None if kind is None else int(text) if kind == "integer" else float(text)


def kind_of(text: str) -> Literal["integer", "number"] | None:
    if len(text) > MOST_CHARACTERS or (match := _NUMBER.match(text)) is None:
        return None
    if match[1] is not None:
        return "number" if repr(float(text)) == text else None
    return "integer" if text != "-0" else None


def with_numbers(row: Row, columns: Collection[str]) -> Row:
    if not columns:
        return row
    return {name: _converted(value) if name in columns else value for name, value in row.items()}


def number_columns(format: str, columns: Sequence[Mapping[str, Any]]) -> list[str]:
    """Columns of a stored dataset that rewards read as numbers."""
    if format != "csv":
        return []
    return [column["name"] for column in columns if column["type"] in ("integer", "number")]


def _converted(value: Any) -> Any:
    number = number_of(value) if isinstance(value, str) else None
    return value if number is None else number
