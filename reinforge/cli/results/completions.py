"""Command `reinforge job completions`."""

from collections.abc import Sequence
from typing import Annotated, get_args

import typer

from reinforge.cli import output
from reinforge.cli.connection import connect
from reinforge.cli.jobs.steer import JobId
from reinforge.cli.output import Json, err, number
from reinforge.records import CompletionEnd
from reinforge.schemas.jobs import CompletionHits, CompletionPage, CompletionRow
from reinforge.tools import CallStatus

app = typer.Typer()
_OUTCOMES = ", ".join((*get_args(CallStatus), "error (any but ok)"))
_ENDS = ", ".join(get_args(CompletionEnd))


@app.command()
def completions(
    id: JobId,
    step: Annotated[int | None, typer.Option(help="Step. Default: the newest, or all with a filter.")] = None,
    worst: Annotated[int | None, typer.Option(help="Only the K lowest rewards.")] = None,
    best: Annotated[int | None, typer.Option(help="Only the K highest rewards.")] = None,
    search: Annotated[
        str | None,
        typer.Option(
            help='Only completions with these words, of all steps: carry "ten ones" -wrong, or <think>.'
        ),
    ] = None,
    tool: Annotated[
        str | None, typer.Option(help="Only completions that call this tool, of all steps.")
    ] = None,
    tool_status: Annotated[
        str | None,
        typer.Option(
            help=f"Only completions with a call (of --tool) that ended so, of all steps: {_OUTCOMES}."
        ),
    ] = None,
    turns_min: Annotated[
        int | None, typer.Option(help="Only completions with at least this many turns, of all steps.", min=1)
    ] = None,
    finish: Annotated[
        str | None, typer.Option(help=f"Only completions that ended so, of all steps: {_ENDS}.")
    ] = None,
    held_out: Annotated[bool, typer.Option("--held-out", help="Completions of evaluations.")] = False,
    limit: Annotated[int, typer.Option(help="Maximum number of completions.", min=1, max=1000)] = 32,
    json: Json = False,
) -> None:
    """Show a step's completions with reward and advantage; with a filter, the matching ones of all steps."""
    sort = "reward" if worst else "-reward" if best else None
    split, many = "held_out" if held_out else None, worst or best or limit
    filters = {"tool": tool, "tool_status": tool_status, "turns_min": turns_min, "finish_reason": finish}
    page: CompletionPage | CompletionHits
    with connect() as client:
        if search is None and not any(filters.values()):
            page = client.jobs.completions(id, step=step, split=split or "train", sort=sort, limit=many)
            where, empty = f"step {page.step}", "No completions yet: the first step is under way."
        else:
            query = {
                "step_from": step,
                "step_to": step,
                "split": split,
                "sort": sort,
                "limit": many,
            } | filters
            page = client.jobs.search_completions(id, search, **query)
            where, empty = "all steps" if step is None else f"step {step}", "No completion matches."
    if json:
        output.print_json(page)
        return
    at_least = "at least " if isinstance(page, CompletionHits) and page.total == page.counted_to else ""
    err.print(f"{where}: {len(page.data)} of {at_least}{page.total} completions")
    _print(page.data, empty)


def _print(rows: Sequence[CompletionRow], empty: str) -> None:
    tools = any(row.tool_calls for row in rows)
    output.print_table(
        ["step", "prompt", "sample", "reward", "advantage", "tokens"]
        + (["turns", "calls", "errors"] if tools else [])
        + ["end", "completion"],
        (
            [
                str(row.step),
                str(row.prompt_no),
                str(row.sample_no),
                number(row.reward) if row.error is None else row.error,
                number(row.advantage),
                str(row.length),
                *(map(str, (row.turns, row.tool_calls, row.tool_errors)) if tools else ()),
                row.finish_reason,
                row.text.replace("\n", "⏎")[:120],
            ]
            for row in rows
        ),
        empty=empty,
    )
