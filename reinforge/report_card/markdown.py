"""A report card as Markdown."""

import re
from collections.abc import Iterator, Sequence
from html import escape

from reinforge.report_card.formats import (
    GROUPS,
    change_text,
    estimate_text,
    identity,
    number,
    policy_lines,
    role_columns,
)
from reinforge.schemas.report_card import CardAbility, CardCompletion, CardFigure, ReportCard

_SPECIAL = re.compile(r"([\\`*_\[\]|~#])")


def markdown(card: ReportCard) -> str:
    return "\n".join(line for section in _sections(card) for line in section) + "\n"


def _plain(text: object) -> str:
    return _SPECIAL.sub(r"\\\1", escape(" ".join(str(text).split()), quote=False))


def _sections(card: ReportCard) -> Iterator[list[str]]:
    yield [f"# Report card: {_plain(card.subject.name)}", ""]
    if card.verdict is not None:
        yield [f"**{_plain(card.verdict.outcome.replace('_', ' '))}**: {_plain(card.verdict.message)}", ""]
    if (requirement := card.requirement) is not None:
        yield [f"Required card: **{'passed' if requirement.met else 'not passed'}**", ""]
        lines = (
            f"- {'met' if one.met else '**not met**'}: `{one.condition}`. {_plain(one.message)}"
            for one in requirement.conditions
        )
        yield [*lines, ""]
    yield [f"- {_plain(line)}" for line in policy_lines(card)] + [""]
    for group, title in GROUPS.items():
        figures = [figure for figure in card.figures if figure.group == group]
        if figures:
            yield [f"## {title}", "", *_table(figures), ""]
    yield from _abilities(card.abilities)
    yield from _signs(card)
    yield from _examples("Best completions", card.best)
    yield from _examples("Worst completions", card.worst)
    yield ["## Time and cost", "", *(f"- {line}" for line in cost_lines(card)), ""]
    if card.notes:
        yield ["## Limits", "", *(f"- {_plain(note)}" for note in card.notes), ""]
    yield ["## What it is about", "", *(f"- {name}: `{value}`" for name, value in identity(card.subject)), ""]


def _table(figures: Sequence[CardFigure]) -> list[str]:
    columns = role_columns(figures)
    return [
        f"| | {' | '.join(title for _, title in columns)} |",
        f"|---|{'---|' * len(columns)}",
        *(_row(figure, [name for name, _ in columns]) for figure in figures),
    ]


def _row(figure: CardFigure, names: Sequence[str]) -> str:
    cells = [
        change_text(getattr(figure, name))
        if name.endswith("change")
        else estimate_text(getattr(figure, name))
        for name in names
    ]
    return f"| {_plain(figure.title)} ({figure.unit}) | {' | '.join(cells)} |"


def _abilities(abilities: Sequence[CardAbility]) -> Iterator[list[str]]:
    for ability in abilities:
        title = f"## Other ability: {_plain(ability.name)}{' (worse)' if ability.worse else ''}"
        yield [title, "", f"Reward {_plain(ability.reward)}.", "", *_table(ability.figures), ""]


def _signs(card: ReportCard) -> Iterator[list[str]]:
    witnesses = [f"- `{one.code}`: {_plain(one.message)}" for one in card.witnesses]
    yield ["## Hack witnesses", "", *(witnesses or ["None."]), ""]
    if card.findings:
        lines = (f"- {one.severity}, step {one.step}: {_plain(one.message)}" for one in card.findings)
        yield ["## Findings", "", *lines, ""]


def _examples(title: str, completions: Sequence[CardCompletion]) -> Iterator[list[str]]:
    if not completions:
        return
    yield [f"## {title}", ""]
    for one in completions:
        before = "" if one.base_reward is None else f", base {number(one.base_reward)}"
        yield [f"Row {one.row}: reward {number(one.reward)}{before}, {one.tokens} tokens", ""]
        if one.prompt:
            yield [*_fenced(one.prompt), ""]
        if one.answer:
            yield [f"Reference answer: {_plain(one.answer)}", ""]
        yield [*_fenced(one.text), ""]


def _fenced(text: str) -> list[str]:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}text", *text.splitlines(), fence]


def cost_lines(card: ReportCard) -> list[str]:
    cost = card.cost
    amounts = {
        "Time from start to end": None if cost.seconds is None else f"{number(cost.seconds)} s",
        "Compute time": f"{number(cost.worker_seconds)} s",
        "Sampled tokens": f"{cost.sampled_tokens:,.0f}",
        "Trained tokens": f"{cost.trained_tokens:,.0f}",
        "Cost": None if cost.cost is None else number(cost.cost),
    }
    return [f"{name}: {amount}" for name, amount in amounts.items() if amount is not None]
