"""Command `reinforge diverge`."""

from typing import Annotated

import typer

from reinforge.cli.connection import connect
from reinforge.cli.output import Json, err, number, out, print_json
from reinforge.cli.repeat.differences import describe
from reinforge.schemas.divergence import Divergence


def diverge(
    first: Annotated[str, typer.Argument(help="Id of a job.")],
    second: Annotated[str, typer.Argument(help="Id of another job, such as a fork with one change.")],
    json: Json = False,
) -> None:
    """Show where two jobs first differ (metric, prompt, token) and compare their held-out rewards.

    Forks of one job share prompts and sampling noise: if one setting differs, it causes the difference.
    """
    with connect() as client:
        divergence = client.jobs.diverge(first, second)
    if json:
        print_json(divergence)
        return
    _print(divergence)


def _print(divergence: Divergence) -> None:
    sides = ("first", "second")
    for setting in divergence.settings:
        pair = ", ".join(f"{side} {value!r}" for side, value in zip(sides, setting.values, strict=True))
        out.print(f"setting     {setting.path}: {pair}", markup=False, soft_wrap=True)
    for name, difference in (
        ("metric", divergence.metric), ("completion", divergence.completion), ("reward", divergence.reward),
    ):  # fmt: skip
        text = "no difference" if difference is None else describe(difference, sides)
        out.print(f"{name:<11} {text}", markup=False, highlight=False, soft_wrap=True)
    if (effect := divergence.effect) is not None:
        values = " → ".join(number(value) for value in effect.values)
        change = effect.difference
        interval = (
            "" if change is None else f", {change.value:+.3f} ({change.low:+.3f} to {change.high:+.3f})"
        )
        out.print(f"held-out    step {effect.step}: {values}{interval}", markup=False, soft_wrap=True)
    err.print(f"{divergence.steps} common steps")
    for note in divergence.notes:
        err.print(f"[yellow]note[/yellow] {note}", soft_wrap=True)
