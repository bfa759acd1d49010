"""Command `reinforge job prompts`."""

from typing import Annotated, get_args

import typer

from reinforge.cli import output
from reinforge.cli.connection import connect
from reinforge.cli.jobs.steer import JobId
from reinforge.cli.output import Json, err, number
from reinforge.schemas.job_prompts import JobPrompt, PromptCategory

app = typer.Typer()
_CATEGORIES: dict[str, PromptCategory] = {
    category.replace("_", "-"): category for category in get_args(PromptCategory)
}
_BARS = "▁▂▃▄▅▆▇█"
_PAGE = 200


@app.command()
def prompts(
    id: JobId,
    category: Annotated[
        str | None, typer.Option(help=f"Only prompts of this category: {', '.join(_CATEGORIES)}.")
    ] = None,
    search: Annotated[str | None, typer.Option(help="Only prompts that contain this text.")] = None,
    sort: Annotated[
        str,
        typer.Option(
            help="Order: row, pass_share, last, change, variance or draws; descending with - in front."
        ),
    ] = "row",
    held_out: Annotated[bool, typer.Option("--held-out", help="Prompts of evaluations.")] = False,
    limit: Annotated[int, typer.Option(help="Maximum number of prompts.", min=1, max=100_000)] = 50,
    json: Json = False,
) -> None:
    """List a job's prompts over all steps, by category: never solved, newly lost, won, most variable."""
    if category is not None and category not in _CATEGORIES:
        raise typer.BadParameter(f"must be one of {', '.join(_CATEGORIES)}", param_hint="--category")
    chosen = None if category is None else _CATEGORIES[category]
    split = "held_out" if held_out else "train"
    data: list[JobPrompt] = []
    with connect() as client:
        page = client.jobs.prompts(
            id, split=split, category=chosen, q=search, sort=sort, limit=min(limit, _PAGE)
        )
        data += page.data
        while page.has_more and len(data) < limit:
            page = client.jobs.prompts(
                id,
                split=split,
                category=chosen,
                q=search,
                sort=sort,
                limit=min(limit - len(data), _PAGE),
                after=page.next_cursor,
            )
            data += page.data
    page = page.model_copy(update={"data": data})
    if json:
        output.print_json(page)
        return
    counts = [f"{page.categories.get(key, 0)} {name.replace('-', ' ')}" for name, key in _CATEGORIES.items()]
    err.print(f"{len(data)} of {page.total} prompts; of all {page.prompts}: {', '.join(counts)}")
    output.print_table(
        ["row", "category", "draws", "pass", "first", "last", "rewards", "prompt", "answer"],
        (_line(prompt) for prompt in data),
        empty="No completions yet: the first step is under way."
        if not page.prompts
        else "No prompt matches.",
    )


def _line(prompt: JobPrompt) -> list[str]:
    return [
        str(prompt.row_index + 1),
        (prompt.category or "").replace("_", " "),
        str(prompt.draws),
        _percent(prompt.pass_share),
        number(prompt.first_reward),
        number(prompt.last_reward),
        sparkline(prompt.series.rewards[-20:]),
        _one_line(prompt.prompt, 60),
        _one_line(prompt.answer, 20),
    ]


def sparkline(values: list[float]) -> str:
    """Block characters that chart the values, scaled from min(0, lowest) to max(1, highest)."""
    if not values:
        return ""
    low, high = min(0.0, *values), max(1.0, *values)
    return "".join(_BARS[round((value - low) / (high - low) * (len(_BARS) - 1))] for value in values)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"


def _one_line(text: str | None, most: int) -> str:
    line = "–" if text is None else text.replace("\n", "⏎")
    return line if len(line) <= most else line[: most - 1] + "…"
