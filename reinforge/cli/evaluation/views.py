"""Command-line options that choose prompts, columns and rewards."""

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
        help="Column of a part (prompt, messages, answer or slice), such as answer=result. Repeat for more.",
    ),
]
Template = Annotated[
    str | None, typer.Option(help="Text with {column} placeholders that becomes the prompt.")
]
SystemPrompt = Annotated[str | None, typer.Option(help="System message before every prompt.")]

_PARTS = ("prompt", "messages", "answer", "slice")


def roles(options: list[str] | None) -> ColumnRoles:
    columns: dict[str, str] = {}
    for option in options or ():
        part, _, column = option.partition("=")
        if part not in _PARTS or not column:
            raise InvalidInput(
                f"--column {option!r} is not PART=COLUMN.",
                code="usage",
                param="--column",
                hint=f"Parts are {', '.join(_PARTS)}: --column answer=result",
            )
        columns[part] = column
    return ColumnRoles(**columns)


def prompt_view(
    columns: list[str] | None, template: str | None, system_prompt: str | None
) -> dict[str, Any] | None:
    """The `prompt_view` of a request. None if no option is set: the dataset's own view applies."""
    if columns is None and template is None and system_prompt is None:
        return None
    return {
        "columns": roles(columns).model_dump(exclude_none=True),
        "prompt_template": template,
        "system_prompt": system_prompt,
    }


def reward_of(reward: str) -> dict[str, Any]:
    """Request fields of a reward: `reward` and `revision` if stored, else `source` and maybe `granularity`.

    reward: a file, a stored reward (`rew_…[@REVISION]`) or a ready-made one's name. Raises InvalidInput
    `reward_not_found`.
    """
    if Path(reward).is_file():
        return {"source": read_source(reward)}
    if reward.startswith("rew_"):
        stored, _, revision = reward.partition("@")
        return {"reward": stored, "revision": int(revision) if revision else None}
    ready = {template.id for template in library()}
    if reward not in ready:
        raise InvalidInput(
            f"There is no file {reward}, and no ready reward has this name.",
            code="reward_not_found",
            param="--reward",
            hint="Give a file, the id of a stored reward (`reinforge reward list`) or the name of a ready one "
            "(`reinforge reward library list`).",
        )
    chosen = ready_reward(reward)
    if chosen.type != "python":
        return {"source": json.dumps(yaml.safe_load(chosen.source))}
    return {"source": chosen.source} | (
        {} if chosen.granularity == "sample" else {"granularity": chosen.granularity}
    )
