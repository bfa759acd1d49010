"""Conversion of a row to the `item` that rewards read; `data.columns.answer` fills `item.answer`."""

from collections.abc import Collection, Mapping
from typing import Any

from reinforge.dataset.columns import ColumnRoles
from reinforge.dataset.rows import Row

ANSWER = "answer"


def item_of(row: Row, roles: ColumnRoles | Mapping[str, Any] | None) -> Row:
    column = answer_column(roles)
    if column is None:
        return row
    item = {name: value for name, value in row.items() if name != ANSWER}
    if column in row:
        item[ANSWER] = row[column]
    return item


def item_columns(columns: Collection[str], roles: ColumnRoles | Mapping[str, Any] | None) -> list[str]:
    """Names that a reward can read as `item.<name>`, in the order of columns."""
    column = answer_column(roles)
    filled = column is not None and column in columns and ANSWER not in columns
    return [*columns, ANSWER] if filled else list(columns)


def answer_column(roles: ColumnRoles | Mapping[str, Any] | None) -> str | None:
    """The column that fills `item.answer`; None if the row's own `answer` does."""
    named = roles.answer if isinstance(roles, ColumnRoles) else (roles or {}).get(ANSWER)
    return None if named == ANSWER else named


def shadowed_answer(columns: Collection[str], roles: ColumnRoles | None) -> str | None:
    column = answer_column(roles)
    if column is None or ANSWER not in columns or column not in columns:
        return None
    return (
        f'Rewards read "{column}" as item.answer, as data.columns.answer says; the dataset\'s own column "answer" '
        "cannot be read by rewards. Rename it if they need it."
    )
