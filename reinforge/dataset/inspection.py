"""Reads a dataset file in one pass, and reports its columns, prompts and faults."""

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import orjson

from reinforge.dataset.columns import ColumnRoles
from reinforge.dataset.errors import DatasetError, DatasetTooLarge
from reinforge.dataset.errors import Path as ValuePath
from reinforge.dataset.faults import Faults, uploaded_lines, without_lines
from reinforge.dataset.formats import parquet
from reinforge.dataset.formats.reading import READERS, Format, detect_format, empty_file, read_source
from reinforge.dataset.items import item_of
from reinforge.dataset.limits import DatasetLimits, readable, row_too_large, too_many_rows
from reinforge.dataset.numbers import TEXT_COLUMNS, number_columns, with_numbers
from reinforge.dataset.prompts import Message, PromptTemplate, check_roles, render_messages
from reinforge.dataset.report import (
    OUTLIERS_NAMED,
    ColumnReport,
    Columns,
    DatasetReport,
    DatasetWarning,
    preview_row,
)
from reinforge.dataset.rows import Row, SourceRow, canonical
from reinforge.dataset.suggestion import REQUIRED_PROMPT_NAMES, named
from reinforge.dataset.tools import Tool, prompt_characters, row_tools
from reinforge.schemas.datasets import DatasetFault, SkippedRows

DISTINCT_ROWS_REMEMBERED = 1_000_000

PromptSource = Literal["template", "messages", "prompt"]


@dataclass(frozen=True, slots=True)
class PromptRow:
    index: int
    item: Row
    messages: list[Message]
    tools: list[Tool] | None = None

    @property
    def characters(self) -> int:
        return prompt_characters(self.messages, self.tools)


def inspect(
    path: Path | str,
    filename: str | None = None,
    limits: DatasetLimits | None = None,
    *,
    roles: ColumnRoles | None = None,
    template: str | None = None,
    preview_rows: int = 20,
    bad_rows: Mapping[int, int] | None = None,
) -> DatasetReport:
    """Read the whole file once, with bounded memory, and report on it. Raises DatasetError: the first
    fault, with the others in its `errors`.
    """
    path, limits = Path(path), limits or DatasetLimits()
    name = filename or path.name
    size = path.stat().st_size
    if size > limits.max_bytes:
        raise DatasetTooLarge(
            f"{name} has {readable(size)}; the limit is {readable(limits.max_bytes)}.",
            code="file_too_large",
            hint="Split the file, or sample it: training sees prompts_per_step × steps rows.",
        )
    format = detect_format(path, name)
    survey = _Survey(limits, roles, template, preview_rows)
    reader = READERS[format]
    faults = Faults()
    try:
        for row in uploaded_lines(reader.read(path, limits, faults.add), bad_rows or {}):
            _add(row, format, survey, faults)
    except DatasetError as error:
        faults.end(error)
    faults.check(survey.rows - survey.bad_rows)
    if survey.rows == 0:
        raise empty_file(name)
    return DatasetReport(
        filename=name,
        format=format,
        bytes=size,
        sha256=_sha256(path),
        rows=survey.rows,
        columns=survey.column_reports(format),
        prompt_source=survey.prompt_source,
        duplicate_rows=survey.duplicates,
        preview=survey.preview,
        warnings=survey.warnings(),
    )


def inspect_skipping(
    path: Path, filename: str, limits: DatasetLimits, to: Path, *, listed_lines: int = 1000
) -> DatasetReport:
    try:
        return inspect(path, filename, limits)
    except DatasetError as error:
        if error.faults is None or not error.faults["skippable"]:
            raise
        bad = error
    if detect_format(path, filename) == "parquet":
        parquet.write_without_rows(path, to, bad.bad_rows, limits)
    else:
        without_lines(path, to, bad.bad_rows)
    report = inspect(to, filename, limits, bad_rows=bad.bad_rows)
    skipped = SkippedRows(
        rows=len(bad.bad_rows),
        lines=list(bad.bad_rows)[:listed_lines],
        faults=[DatasetFault.model_validate(fault) for fault in bad.errors],
        sha256=_sha256(path),
    )
    return report.model_copy(update={"skipped": skipped})


def iter_prompts(
    path: Path | str,
    format: Format | None = None,
    *,
    roles: ColumnRoles | None = None,
    template: str | None = None,
    system_prompt: str | None = None,
    limits: DatasetLimits | None = None,
    numbers: Collection[str] = (),
) -> Iterator[PromptRow]:
    path = Path(path)
    format = format or detect_format(path)
    parsed = None if template is None else PromptTemplate.parse(template)
    for index, row in enumerate(read_source(path, format, limits or DatasetLimits())):
        try:
            messages = render_messages(row.value, roles, parsed, system_prompt)
            tools = row_tools(row.value)
        except DatasetError as error:
            raise _located(error, row, format) from None
        yield PromptRow(index, item_of(with_numbers(row.value, numbers), roles), messages, tools)


def _add(row: SourceRow, format: Format, survey: "_Survey", faults: Faults) -> None:
    try:
        survey.add(row)
    except DatasetError as error:
        fault = _located(error, row, format)
        if isinstance(fault, DatasetTooLarge) or survey.rows == 0:
            raise fault from None
        survey.bad_rows += 1
        text = row.text or ""
        faults.add(fault, row.line, max(1, text.rstrip("\r\n").count("\n") + 1), len(text))


def numbers_of(path: Path | str) -> list[str]:
    if detect_format(Path(path)) != "csv":
        return []
    return number_columns("csv", [column.model_dump() for column in inspect(path).columns])


class _Survey:
    def __init__(
        self, limits: DatasetLimits, roles: ColumnRoles | None, template: str | None, preview: int
    ) -> None:
        self._limits = limits
        self._roles = roles or ColumnRoles()
        self._template = None if template is None else PromptTemplate.parse(template)
        self._preview_rows = preview
        self._row_digests: set[bytes] = set()
        self._decoded_bytes = 0
        self._has_both = False
        self.prompt_source: PromptSource | None = None
        self.columns = Columns(limits)
        self.rows = 0
        self.bad_rows = 0
        self._guessed_prompt: str | None = None
        self.duplicates = 0
        self.preview: list[dict[str, Any]] = []

    def add(self, row: SourceRow) -> None:
        self._count(row)
        if self.rows == 0:
            self.prompt_source = self._recognise(row.value)
            if self.prompt_source is None:
                self._guessed_prompt = named(row.value, REQUIRED_PROMPT_NAMES)
        self.rows += 1
        self.columns.add(row)
        if self.prompt_source is not None:
            render_messages(row.value, self._roles, self._template)
            row_tools(row.value)
            self._has_both = self._has_both or ("messages" in row.value and "prompt" in row.value)
        elif self._guessed_prompt is not None:
            _check_filled(row.value, self._guessed_prompt)
        if len(self.preview) < self._preview_rows:
            self.preview.append(preview_row(row.value))

    def _recognise(self, first: Row) -> PromptSource | None:
        is_configured = self._template is not None or self._roles.messages or self._roles.prompt
        if is_configured:
            check_roles(first, self._roles, self._template)
        if self._template is not None:
            return "template"
        if self._roles.messages or (not self._roles.prompt and "messages" in first):
            return "messages"
        return "prompt" if self._roles.prompt or "prompt" in first else None

    def _count(self, row: SourceRow) -> None:
        limits = self._limits
        content = canonical(row.value)
        self._decoded_bytes += len(content)
        if len(content) > limits.max_row_bytes and row.text is None:
            raise row_too_large(row.line, None, limits)
        if self.rows >= limits.max_rows or self._decoded_bytes > limits.max_decoded_bytes:
            raise too_many_rows(limits, row.line)
        digest = hashlib.blake2b(content, digest_size=12).digest()
        if digest in self._row_digests:
            self.duplicates += 1
        elif len(self._row_digests) < DISTINCT_ROWS_REMEMBERED:
            self._row_digests.add(digest)

    def column_reports(self, format: Format) -> list[ColumnReport]:
        columns = self.columns.by_name
        names = columns.keys() - TEXT_COLUMNS if format == "csv" else set()
        numbers = {name for name in names if columns[name].use_numbers()}
        self.preview = [with_numbers(row, numbers) for row in self.preview]
        return [column.report(name, self.rows) for name, column in columns.items()]

    def warnings(self) -> list[DatasetWarning]:
        warnings = []
        if self.rows == 1:
            message = (
                "The dataset has 1 row: nothing can be held out, so there will be no held-out evaluation."
            )
            warnings.append(DatasetWarning(code="single_row", message=message))
        if self.duplicates:
            message = (
                f"{self.duplicates:,} of {self.rows:,} rows repeat an earlier row; "
                "a row and its copy may be split between training and evaluation."
            )
            warnings.append(DatasetWarning(code="duplicate_rows", message=message))
        if self.prompt_source is None:
            message = (
                'There is no "messages" or "prompt" column: a job has to name the prompt column or give a '
                f"template. Columns: {', '.join(list(self.columns.by_name)[:30])}."
            )
            warnings.append(DatasetWarning(code="no_prompt_column", message=message))
        if self._has_both:
            message = (
                'Rows have both "messages" and "prompt": "messages" is used unless the job says otherwise.'
            )
            warnings.append(DatasetWarning(code="two_prompts", message=message))
        return warnings + self._column_warnings()

    def _column_warnings(self) -> list[DatasetWarning]:
        warnings = []
        for name, column in self.columns.by_name.items():
            if column.type == "mixed":
                message = f'The type of "{name}" changes between rows: {column.describe_mixture()}.'
                warnings.append(DatasetWarning(code="mixed_types", message=message, column=name))
            if name not in TEXT_COLUMNS and (outliers := column.outliers()):
                message = (
                    f'{column.numbers.total():,} of {self.rows:,} values of "{name}" are numbers; '
                    f"{'this one is' if outliers == 1 else 'these are'} not: {column.describe_outliers()}"
                    f"{', …' if outliers > OUTLIERS_NAMED else ''}."
                )
                warnings.append(DatasetWarning(code="not_a_number", message=message, column=name))
            absent = self.rows - column.types.total()
            if absent:
                message = f'"{name}" is null or missing in {absent:,} of {self.rows:,} rows.'
                warnings.append(DatasetWarning(code="missing_values", message=message, column=name))
        return warnings


def _check_filled(row: Row, column: str) -> None:
    value = row.get(column, "")
    if column in row and (value is None or (isinstance(value, str) and not value.strip())):
        raise DatasetError(
            f'The column "{column}" seems to hold the prompts, but it is empty in this row.',
            code="empty_prompt",
            path=(column,),
            hint=f'Fill it in or drop the row. If "{column}" is not the prompt, rename the column.',
        )


def _located(error: DatasetError, row: SourceRow, format: Format) -> DatasetError:
    line, column = error.line, error.column
    if line is None:
        line, column = READERS[format].place(row, error.path)
    if error.excerpt is not None:
        return error
    return error.at(line, column, _line_of(row, line - row.line, error.path))


def _line_of(row: SourceRow, offset: int, path: ValuePath) -> str:
    if row.text is not None:
        return row.text.split("\n")[offset]
    excerpt = {path[0]: row.value[path[0]]} if path and path[0] in row.value else row.value
    return orjson.dumps(excerpt).decode()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
