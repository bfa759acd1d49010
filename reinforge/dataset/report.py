"""Report on a dataset: column statistics, preview and warnings."""

import json
from collections import Counter
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from reinforge.dataset.errors import DatasetError
from reinforge.dataset.formats.reading import Format
from reinforge.dataset.limits import DatasetLimits, too_many_columns
from reinforge.dataset.numbers import MOST_CHARACTERS, kind_of
from reinforge.dataset.rows import Row, SourceRow
from reinforge.schemas.datasets import SkippedRows

ColumnType = Literal["string", "integer", "number", "boolean", "list", "object", "mixed", "null"]

_TYPES: dict[type, ColumnType] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "list",
    dict: "object",
}
EXAMPLE_CHARACTERS = 200
OUTLIERS_NAMED = 3
PREVIEW_CHARACTERS = 2000
PREVIEW_ITEMS = 50


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ColumnReport(_Frozen):
    name: str
    type: ColumnType
    types: dict[str, int]
    null_count: int
    missing_count: int
    """Rows that lack the column (JSONL only)."""
    example: str | None
    """The first non-null value as text, at most 200 characters."""
    mean_characters: float | None
    max_characters: int | None


class DatasetWarning(_Frozen):
    code: Literal[
        "single_row",
        "duplicate_rows",
        "mixed_types",
        "missing_values",
        "no_prompt_column",
        "two_prompts",
        "not_a_number",
    ]
    message: str
    column: str | None = None


class DatasetReport(_Frozen):
    filename: str
    format: Format
    bytes: int
    sha256: str
    rows: int
    columns: list[ColumnReport]
    prompt_source: Literal["template", "messages", "prompt"] | None
    """Source of prompts; None: a job has to give column roles or a template."""
    duplicate_rows: int
    preview: list[dict[str, Any]]
    warnings: list[DatasetWarning]
    skipped: SkippedRows | None = None


class ColumnStatistics:
    def __init__(self) -> None:
        self.types: Counter[ColumnType] = Counter()
        self.first_lines: dict[ColumnType, int] = {}
        self.nulls = 0
        self.example: str | None = None
        self.characters = 0
        self.max_characters = 0
        self.numbers: Counter[ColumnType] = Counter()
        self.first_others: list[tuple[int, str]] = []

    def add(self, value: Any, line: int) -> None:
        if value is None:
            self.nulls += 1
            return
        kind = _TYPES[type(value)]
        if kind not in self.first_lines:
            self.first_lines[kind] = line
        self.types[kind] += 1
        if kind == "string":
            self.characters += len(value)
            self.max_characters = max(self.max_characters, len(value))
            self._count_number(value, line)
        if self.example is None:
            text = value if kind == "string" else json.dumps(value, ensure_ascii=False)
            self.example = _cut(text, EXAMPLE_CHARACTERS)

    def _count_number(self, text: str, line: int) -> None:
        kind = kind_of(text)
        if kind is not None:
            self.numbers[kind] += 1
        elif len(self.first_others) < OUTLIERS_NAMED:
            self.first_others.append((line, text[:MOST_CHARACTERS]))

    def use_numbers(self) -> bool:
        """Turns a column of strings that are all numbers into one of numbers. Returns whether it did."""
        strings = self.types["string"]
        if not strings or self.nulls or self.numbers.total() != strings:
            return False
        self.types, self.characters, self.max_characters = self.numbers, 0, 0
        return True

    def outliers(self) -> int:
        others = self.types["string"] - self.numbers.total()
        is_number = self.type == "string" and self.numbers.total() >= 4
        return others if is_number and others <= max(1, self.types["string"] // 10) else 0

    def describe_outliers(self) -> str:
        """Cells that are not numbers: `"sixty-eight" on line 39, nothing on line 40`."""
        named = (
            f'"{text}" on line {line}' if text else f"nothing on line {line}"
            for line, text in self.first_others
        )
        return ", ".join(named)

    @property
    def type(self) -> ColumnType:
        kinds = set(self.types)
        if kinds == {"integer", "number"}:
            return "number"
        return next(iter(kinds)) if len(kinds) == 1 else "mixed" if kinds else "null"

    def report(self, name: str, rows: int) -> ColumnReport:
        strings = self.types["string"]
        return ColumnReport(
            name=name,
            type=self.type,
            types=dict(self.types),
            null_count=self.nulls,
            missing_count=rows - self.nulls - self.types.total(),
            example=self.example,
            mean_characters=self.characters / strings if strings else None,
            max_characters=self.max_characters if strings else None,
        )

    def describe_mixture(self) -> str:
        """Types: `string (from line 1) and integer (from line 7)`."""
        return " and ".join(f"{kind} (from line {line})" for kind, line in self.first_lines.items())


class Columns:
    def __init__(self, limits: DatasetLimits) -> None:
        self._limits = limits
        self.by_name: dict[str, ColumnStatistics] = {}

    def add(self, row: SourceRow) -> None:
        for name, value in row.value.items():
            column = self.by_name.get(name)
            if column is None:
                column = self._new(name, row)
            column.add(value, row.line)

    def _new(self, name: str, row: SourceRow) -> ColumnStatistics:
        if not name.strip():
            message = "A column has an empty name."
            raise DatasetError(message, code="unnamed_column", path=(name,), hint="Name it or leave it out.")
        if len(self.by_name) >= self._limits.max_columns:
            raise too_many_columns(len(self.by_name) + 1, self._limits, row.line)
        return self.by_name.setdefault(name, ColumnStatistics())


def preview_row(row: Row) -> dict[str, Any]:
    return {name: _preview(value) for name, value in row.items()}


def _preview(value: Any) -> Any:
    if isinstance(value, str):
        return _cut(value, PREVIEW_CHARACTERS)
    if isinstance(value, list):
        return [_preview(item) for item in value[:PREVIEW_ITEMS]]
    if isinstance(value, dict):
        return {key: _preview(item) for key, item in list(value.items())[:PREVIEW_ITEMS]}
    return value


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else text[: characters - 1] + "…"
