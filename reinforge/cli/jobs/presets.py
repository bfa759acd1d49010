"""Commands under `reinforge presets`."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from reinforge.algorithm.plugins import package_of_preset
from reinforge.cli import output
from reinforge.cli.output import Json, out
from reinforge.errors import InvalidInput
from reinforge.presets import PRESETS, cards, family_of

app = typer.Typer(
    help="Algorithm presets: shaping, selection, advantage and loss. No server is needed.",
    no_args_is_help=True,
)


@app.command("list")
def list_presets(json: Json = False) -> None:
    """List the presets that a job can use, by family."""
    if json:
        output.print_json([_card(name) for members in cards.runnable().values() for name in members])
        return
    rows = [
        [name, preset.title, family, preset.confidence]
        for family, members in cards.runnable().items()
        for name, preset in members.items()
    ]
    output.print_table(["id", "title", "family", "confidence"], rows, empty="")


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="Id of a preset: see `reinforge presets list`.")],
    json: Json = False,
) -> None:
    """Show a preset: description, source and settings for a job file."""
    if name not in PRESETS:
        raise InvalidInput(
            f"There is no preset {name!r}.",
            code="unknown_preset",
            param="name",
            hint="`reinforge presets list` shows all presets.",
        )
    if json:
        output.print_json(_card(name))
        return
    preset = PRESETS[name]
    refusal = cards.single_turn_refusal(name, preset)
    _line(f"{preset.title} ({name}, {family_of(name)})\n")
    _line(f"{preset.summary}\n")
    _line(f"  {preset.formula}\n")
    _line(f"source      {preset.source}")
    _line(f"confidence  {preset.confidence}")
    if package := package_of_preset(name):
        _line(f"package     {package}")
    for deviation in preset.deviations:
        _line(f"differs     {deviation}")
    if preset.learning:
        _line(f"learning    {preset.learning}")
    if note := cards.rate_note(preset):
        _line(f"rate        {note}")
    for need in preset.needs:
        _line(f"needs       {need}")
    if refusal:
        _line(f"refused     {refusal}")
    _line(f"\n# in a job file; `preset: {name}` alone says the same\n{cards.job_yaml(name, preset)}".rstrip())
    if preset.recipe:
        _line(f"\n# as published\n{cards.as_yaml(preset.recipe)}".rstrip())


def _card(name: str) -> dict[str, Any]:
    refusal = cards.single_turn_refusal(name, PRESETS[name])
    return {
        "id": name,
        "family": family_of(name),
        "package": package_of_preset(name),
        **asdict(PRESETS[name]),
        "single_turn": refusal is None,
        "reason": refusal,
    }


def _line(text: str) -> None:
    out.print(text, markup=False, soft_wrap=True)
