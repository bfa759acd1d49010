"""Functions that print tables and JSON to stdout, and all else to stderr."""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import IO, Annotated, Any, TypeVar

import typer
from pydantic import BaseModel
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from reinforge import settings
from reinforge.errors import ReinforgeError

M = TypeVar("M", bound=BaseModel)

_WIDE = 10_000


def _console(stream: IO[str], **options: Any) -> Console:
    narrow = stream.isatty() or settings.columns_are_set()
    return Console(highlight=False, width=None if narrow else _WIDE, **options)


out = _console(sys.stdout)
err = _console(sys.stderr, stderr=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else there.")]
Timeout = Annotated[
    float | None, typer.Option("--timeout", help="Maximum seconds to wait; then exit 124.", min=0)
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the result.")]


def print_json(value: BaseModel | Iterable[BaseModel] | dict[str, Any] | Sequence[dict[str, Any]]) -> None:
    def plain(item: Any) -> Any:
        return item.model_dump(mode="json") if isinstance(item, BaseModel) else item

    document = plain(value) if isinstance(value, BaseModel | dict) else [plain(item) for item in value]
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, empty: str) -> None:
    table = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*(escape(cell) for cell in row))
    if table.row_count:
        out.print(table)
    else:
        err.print(empty)


def result(value: BaseModel | Sequence[BaseModel], *lines: str, json: bool) -> None:
    """Print `value` as JSON on stdout if `json`, else `lines` on stderr."""
    if json:
        print_json(value)
        return
    for line in lines:
        err.print(line, markup=False)


def listing(
    items: Sequence[M], columns: Sequence[str], cells: Callable[[M], Sequence[str]], *, empty: str, json: bool
) -> None:
    if json:
        print_json(items)
    else:
        print_table(columns, map(cells, items), empty=empty)


def print_error(error: ReinforgeError) -> None:
    where = f" [dim]({escape(error.param)})[/dim]" if error.param else ""
    err.print(f"[red]error[/red] {escape(error.message)}{where}")
    for detail in error.errors[:10]:
        place = detail.get("pointer") or detail.get("param") or ""
        if "line" in detail:
            place = f"line {detail['line']}" + (
                f", column {detail['column']}" if detail.get("column") else ""
            )
        message = str(detail.get("message", ""))
        if message and message not in error.message:
            err.print(f"  {escape(str(place))}: {escape(message)}" if place else f"  {escape(message)}")
        elif detail.get("line"):
            err.print(f"  {place}")
        if detail.get("excerpt"):
            err.print(f"  [dim]{escape(str(detail['excerpt']))}[/dim]")
    if error.faults is not None:
        err.print(f"  {error.faults['bad_rows']:,} bad rows, {error.faults['good_rows']:,} good ones")
    if error.hint:
        err.print(f"[dim]hint[/dim]  {escape(error.hint)}")


def number(value: float | None, digits: int = 3) -> str:
    """None becomes a dash."""
    return "–" if value is None else f"{value:,.{digits}f}"


def size(count: int | None) -> str:
    if count is None:
        return "–"
    value = float(count)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


def duration(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    total = round(seconds)
    if total < 60:
        return f"{total} s"
    if total < 3600:
        return f"{total // 60} min {total % 60:02d} s"
    return f"{total // 3600} h {total % 3600 // 60:02d} min"


def ago(moment: datetime) -> str:
    return f"{duration((datetime.now(UTC) - moment).total_seconds())} ago"
