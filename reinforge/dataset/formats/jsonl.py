"""JSONL: one JSON object per line; blank lines are skipped."""

from collections.abc import Iterator
from pathlib import Path

from reinforge.dataset.errors import DatasetError
from reinforge.dataset.errors import Path as ValuePath
from reinforge.dataset.faults import OnFault, raise_fault
from reinforge.dataset.formats import strict_json
from reinforge.dataset.formats.text import text_lines
from reinforge.dataset.limits import DatasetLimits
from reinforge.dataset.rows import SourceRow

_NAMES = {list: "a list", str: "a string", int: "a number", float: "a number", bool: "true or false"}


def read(path: Path, limits: DatasetLimits, on_fault: OnFault = raise_fault) -> Iterator[SourceRow]:
    def on_bad_line(error: DatasetError, raw: bytes) -> None:
        assert error.line is not None
        on_fault(error, error.line, 1, len(raw))

    for number, line in text_lines(path, limits, on_bad_line):
        text = line.rstrip("\r\n")
        if not text or text.isspace():
            continue
        try:
            value = strict_json.parse(text, limits.max_depth)
        except DatasetError as error:
            on_fault(error.at(number, error.column, text), number, 1, len(text))
            continue
        if not isinstance(value, dict):
            on_fault(_not_an_object(value, text, number), number, 1, len(text))
            continue
        yield SourceRow(number, value, text)


def place(row: SourceRow, path: ValuePath) -> tuple[int, int | None]:
    return row.line, strict_json.column_of(row.text or "", path)


def _not_an_object(value: object, text: str, number: int) -> DatasetError:
    hint = 'A row is an object such as {"prompt": "…", "answer": "…"}.'
    if isinstance(value, list) and value and isinstance(value[0], dict):
        hint = "This is a JSON array of rows. Put each object on one line: jq -c '.[]' old.json > new.jsonl"
    return DatasetError(
        f"A row has to be a JSON object; this is {_NAMES.get(type(value), 'null')}.",
        code="row_not_an_object",
        line=number,
        column=len(text) - len(text.lstrip()) + 1,
        hint=hint,
        text=text,
    )
