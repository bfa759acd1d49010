"""Errors for rewards that read columns missing from the data."""

from collections.abc import Collection, Iterable, Sequence

from reinforge.dataset import ColumnRoles, item_columns
from reinforge.errors import InvalidInput

_NO_ANSWERS = frozenset(("prompt", "messages", "tools", "id"))
LISTED_COLUMNS = 30
IN_A_JOB = "data.columns.answer: {column}"
IN_AN_EVALUATION = "prompt_view.columns.answer: {column} (`reinforge eval --column answer={column}`)"


def missing_columns(
    reward: str | None,
    reads: Iterable[str],
    data: str,
    columns: Sequence[str],
    roles: ColumnRoles | None,
    *,
    param: str,
    declare: str = IN_A_JOB,
) -> list[InvalidInput]:
    """One error for each column that `reward` reads and the data lacks.

    roles: the columns' roles; `answer` fills `item.answer`. param: field with the reward. declare: setting
    that names the answer's column, with a placeholder `{column}`.
    """
    missing = sorted(set(reads) - set(item_columns(columns, roles)))
    called = "The reward" if reward is None else f"The reward {reward!r}"
    return [
        InvalidInput(
            f"{called} reads item.{name}, but {data} has no such column.",
            code="unknown_column",
            param=param,
            hint=f"{_advice(name, columns, roles, declare)} The data has: {_listed(columns)}.",
        )
        for name in missing
    ]


def _advice(name: str, columns: Sequence[str], roles: ColumnRoles | None, declare: str) -> str:
    if name != "answer":
        return f"Rename a column of the data to {name}, or change the reward."
    column = _likely_answer(columns, roles) or "COLUMN"
    return (
        f"Declare the column that holds the answers, {declare.format(column=column)}, or rename it to answer."
    )


def _likely_answer(columns: Sequence[str], roles: ColumnRoles | None) -> str | None:
    assigned = _NO_ANSWERS | {value for value in (roles or ColumnRoles()).model_dump().values() if value}
    others = [name for name in columns if name not in assigned]
    return others[0] if len(others) == 1 else None


def _listed(columns: Collection[str]) -> str:
    text = ", ".join(list(columns)[:LISTED_COLUMNS])
    more = len(columns) - LISTED_COLUMNS
    return f"{text} and {more} more" if more > 0 else text or "no column"
