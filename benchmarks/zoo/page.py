"""The measured tables of docs/diagnosis.md."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_TABLE = re.compile(r"^\|.*\n(?:\|.*\n?)+", re.MULTILINE)
Row = Mapping[str, Any]


def write(page: Path, totals: Mapping[str, Any], rows: Sequence[Row], presets: int) -> None:
    """Replace the tables of the section Measured: totals, false alarms, mistakes.

    rows: of the reported runs. presets: healthy jobs that there are, measured or not.
    """
    before, heading, measured = page.read_text(encoding="utf-8").partition("\n## Measured\n")
    tables = iter((_totals(totals, presets), _false_alarms(rows), _mistakes(rows)))
    page.write_text(before + heading + _TABLE.sub(lambda _: next(tables), measured), encoding="utf-8")


def _lines(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = "---|" * len(head)
    return "".join([f"| {' | '.join(head)} |\n|{rule}\n", *(f"| {' | '.join(line)} |\n" for line in lines)])


def _totals(totals: Mapping[str, Any], presets: int) -> str:
    columns = (totals, totals["fitted"])

    def line(name: str, cell: Any, goal: str = "") -> list[str]:
        return [name, *map(cell, columns), goal]

    return _lines(
        ("", "Reported", "Fitted", "Goal"),
        [
            line("jobs with a mistake", lambda one: f"{one['failing']}, {one['kinds']} kinds"),
            line("a finding names the mistake", lambda one: _number(one["recall"]), "0.95"),
            line("it is the first finding of the list", lambda one: _number(one["right_first"]), "0.90"),
            line(
                "within 20 steps of its onset",
                lambda one: f"{_number(one['in_time'])}, median {one['delay_median']:g} steps",
            ),
            line(
                f"false alarms on healthy jobs, one per preset (of {presets}, without those that hurt)",
                lambda one: f"{one['false_alarms']} on {one['healthy']}",
                "2",
            ),
            line(
                "presets that hurt the policy on this job, and their findings",
                lambda one: f"{len(one['hurt_presets'])}, {one['findings_of_hurt_presets']}",
            ),
            line("false alarms per hour of training", lambda one: _number(one["false_alarms_per_job_hour"])),
            line("the first remedy heals", _healed, "0.80"),
        ],
    )


def _healed(totals: Mapping[str, Any]) -> str:
    tried = totals["remedies_tried"]
    return f"{_number(totals['healed'])} of {tried} tried" if tried else "not tried"


def _false_alarms(rows: Sequence[Row]) -> str:
    return _lines(
        (
            "Finding of a preset",
            "Since step",
            "Reported at step",
            "Right sums, start → end",
            "Hurt since step",
        ),
        [
            (
                f"`{code}` on `{row['name'].removeprefix('healthy-')}`",
                f"{since}",
                f"{reported}",
                _sums(*row["accuracy"]),
                "never: a false alarm" if row["hurt"] is None else f"{row['hurt']}",
            )
            for row in rows
            if row["kind"] == "healthy"
            for code, since, reported in row["findings"]
        ],
    )


def _mistakes(rows: Sequence[Row]) -> str:
    kinds: dict[str, list[Row]] = {}
    for row in rows:
        if row["kind"] != "healthy" and row["onset"] is not None:
            kinds.setdefault(row["name"], []).append(row)
    return _lines(
        (
            "Mistake",
            "Runs",
            "Named",
            "First",
            "First finding",
            "First remedy",
            "Right sums before → after (healthy)",
            "Heals",
        ),
        [_mistake(runs) for runs in kinds.values()],
    )


def _mistake(runs: Sequence[Row]) -> Sequence[str]:
    """A kind: its counts, and findings and remedy of its first seed."""
    first = runs[0]
    remedy = (first.get("remedy") or "none").removesuffix(", from the base")
    healed = first.get("healed")
    heals = "–" if first.get("remedy") is None else {True: "yes", False: "no", None: "not tried"}[healed]
    code = f"`{first['findings'][0][0]}`" if first["findings"] else "nothing"
    counts = (len(runs), sum(row["found"] for row in runs), sum(row["right_first"] for row in runs))
    sums = _sums(first.get("before"), first.get("after"))
    goal = first.get("goal")
    return (
        first["cause"],
        *map(str, counts),
        code,
        remedy,
        f"{sums} ({_number(goal)})" if goal is not None else "–",
        heals,
    )


def _sums(before: float | None, after: float | None) -> str:
    return _number(before) if after is None else f"{_number(before)} → {_number(after)}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
