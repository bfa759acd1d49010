"""Commands under `reinforge budget`, and `reinforge audit`."""

from itertools import islice
from typing import Annotated, cast

import typer

from reinforge.cli import output
from reinforge.cli.connection import connect
from reinforge.cli.output import Json, err
from reinforge.schemas.usage import Period, UsageKind

budgets = typer.Typer(
    help="Budgets of the project: limits per day, per month or in total.", no_args_is_help=True
)

KINDS = {
    "device_seconds": "workers' time",
    "sampled_tokens": "sampled tokens",
    "trained_tokens": "trained tokens",
    "judge_spend": "cost of judges",
    "storage_bytes": "storage",
    "served_input_tokens": "input tokens of deployments",
    "served_output_tokens": "output tokens of deployments",
}
KindArgument = Annotated[str, typer.Argument(help=f"{', '.join(KINDS)}.")]
PeriodOption = Annotated[str, typer.Option(help="day, month or total.")]


@budgets.command("list")
def list_budgets(json: Json = False) -> None:
    """List budgets and how much of them is used."""
    with connect() as client:
        report = client.usage.get(1)
    output.listing(
        report.budgets,
        ["kind", "budget", "period", "used", "allowed"],
        lambda b: [
            b.kind,
            KINDS.get(b.kind, b.kind),
            b.period,
            amount(b.kind, b.used),
            amount(b.kind, b.amount),
        ],
        empty="No budgets. Set one: reinforge budget set sampled_tokens 5000000",
        json=json,
    )


@budgets.command("set")
def set_budget(
    kind: KindArgument,
    value: Annotated[
        float, typer.Argument(help="In seconds, tokens, bytes, or the currency of the judges' prices.")
    ],
    period: PeriodOption = "month",
    json: Json = False,
) -> None:
    """Set a budget. Jobs pause when it is used up."""
    with connect() as client:
        budget = client.usage.set_budget(cast(UsageKind, kind), value, cast(Period, period))
    words = {"day": "a day", "month": "a month", "total": "in all"}[budget.period]
    line = f"{KINDS[budget.kind]}: {amount(budget.kind, budget.amount)} {words}"
    output.result(budget, line, json=json)


@budgets.command("remove")
def remove_budget(kind: KindArgument, period: PeriodOption = "month") -> None:
    """Remove a budget."""
    with connect() as client:
        client.usage.remove_budget(cast(UsageKind, kind), cast(Period, period))
    err.print(f"The budget of {kind} is removed.")


def audit(
    words: Annotated[list[str] | None, typer.Argument(help="Only entries with all of these words.")] = None,
    limit: Annotated[int, typer.Option(help="Maximum number of entries.", min=1)] = 50,
    json: Json = False,
) -> None:
    """List who changed what, newest first. For owners."""
    with connect() as client:
        entries = list(islice(client.audit.list(" ".join(words or []) or None), limit))
    output.listing(
        entries,
        ["when", "who", "action", "target"],
        lambda entry: [output.ago(entry.created_at), entry.actor_name, entry.action, entry.target or ""],
        empty="No entries.",
        json=json,
    )


def amount(kind: str, value: float) -> str:
    if kind == "device_seconds":
        return output.duration(value)
    if kind == "storage_bytes":
        return output.size(round(value))
    return output.number(value, 4 if kind == "judge_spend" else 0)
