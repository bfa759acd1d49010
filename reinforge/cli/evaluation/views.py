"""Options that say how a dataset's rows become prompts and items, and which reward scores them."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from reinforge.dataset import ColumnRoles
from reinforge.errors import InvalidInput
from reinforge.parsing.python_source import read_source
from reinforge.reward_library import library, ready_reward

Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="PART=COLUMN",
        help="Which column plays which part, such as answer=result: prompt, messages or answer. Repeat for more.",
    ),
]
Template = Annotated[
    str | None, typer.Option(help="Text with {column} placeholders that becomes the prompt.")
]
SystemPrompt = Annotated[str | None, typer.Option(help="System message before every prompt.")]

_PARTS = ("prompt", "messages", "answer", "slice")


def roles(given: list[str] | None) -> ColumnRoles:
    """Of `PART=COLUMN` texts. Raises InvalidInput."""
    found: dict[str, str] = {}
    for each in given or ():
        part, _, column = each.partition("=")
        if part not in _PARTS or not column:
            raise InvalidInput(
                f"--column {each!r} is not PART=COLUMN.",
                code="usage",
                param="--column",
                hint=f"Parts are {', '.join(_PARTS)}: --column answer=result",
            )
        found[part] = column
    return ColumnRoles(**found)


def prompt_view(
    columns: list[str] | None, template: str | None, system_prompt: str | None
) -> dict[str, Any] | None:
    """As requests have it; None where no option was given, for the dataset's own."""
    if columns is None and template is None and system_prompt is None:
        return None
    return {
        "columns": roles(columns).model_dump(exclude_none=True),
        "prompt_template": template,
        "system_prompt": system_prompt,
    }


def reward_of(given: str) -> dict[str, Any]:
    """`reward` and `revision` of a stored one (`rew_…[@REVISION]`); else `source`, and `granularity` if it says so.

    given: a file, a stored reward's id, or the name of a ready reward. Raises InvalidInput.
    """
    if Path(given).is_file():
        return {"source": read_source(given)}
    if given.startswith("rew_"):
        stored, _, revision = given.partition("@")
        return {"reward": stored, "revision": int(revision) if revision else None}
    ready = {each.id for each in library()}
    if given not in ready:
        raise InvalidInput(
            f"There is no file {given}, and no ready reward has this name.",
            code="reward_not_found",
            param="--reward",
            hint="Give a file, the id of a stored reward (`reinforge reward list`) or the name of a ready one "
            "(`reinforge reward library list`).",
        )
    chosen = ready_reward(given)
    if chosen.type != "python":
        return {"source": json.dumps(yaml.safe_load(chosen.source))}
    return {"source": chosen.source} | (
        {} if chosen.granularity == "sample" else {"granularity": chosen.granularity}
    )
