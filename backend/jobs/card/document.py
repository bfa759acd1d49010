"""A report card as one HTML file: no script, no network, every string of the job escaped."""

from collections.abc import Iterator, Sequence
from html import escape

from backend.jobs.report.document import page
from reinforge.report_card.formats import (
    GROUPS,
    change_text,
    estimate_text,
    identity,
    number,
    policy_lines,
    role_columns,
)
from reinforge.report_card.markdown import cost_lines
from reinforge.schemas.report_card import CardCompletion, CardFigure, ReportCard

_OUTCOMES = {
    "learned": "Learned",
    "no_change": "No change",
    "worse_than_base": "Worse than the base",
    "unknown": "Unknown",
}


def document(card: ReportCard) -> str:
    return page(f"Report card: {card.subject.name}", "".join(_sections(card)))


def _sections(card: ReportCard) -> Iterator[str]:
    subject = card.subject
    facts = [
        ("Status", subject.status),
        ("Step", str(subject.step)),
        ("Model", subject.model),
        ("Job", subject.job),
    ]
    items = "".join(f"<li>{name} <b>{escape(value)}</b></li>" for name, value in facts)
    yield f'<p class="kind">Report card</p><h1>{escape(subject.name)}</h1><ul class="meta">{items}</ul>'
    yield _verdict(card)
    yield _list([escape(line) for line in policy_lines(card)])
    for group, title in GROUPS.items():
        figures = [figure for figure in card.figures if figure.group == group]
        if figures:
            yield f"<h2>{title}</h2>{_table(title, figures)}"
    for ability in card.abilities:
        title = f"Other ability: {ability.name}{' (worse)' if ability.worse else ''}"
        reward = f"<p>Reward {escape(ability.reward)}.</p>"
        yield f"<h2>{escape(title)}</h2>{reward}{_table(title, ability.figures)}"
    yield "<h2>Hack witnesses</h2>"
    yield (
        _list([f"<b>{escape(one.code)}</b> {escape(one.message)}" for one in card.witnesses])
        or "<p>None.</p>"
    )
    yield from _titled(
        "Findings",
        [f"{escape(one.severity)}, step {one.step}: {escape(one.message)}" for one in card.findings],
    )
    yield _examples("Best completions", card.best)
    yield _examples("Worst completions", card.worst)
    yield from _titled("Time and cost", [escape(line) for line in cost_lines(card)])
    yield from _titled("Limits", [escape(note) for note in card.notes])
    lines = [f"{escape(name)}: <b>{escape(value)}</b>" for name, value in identity(subject)]
    yield f'<details class="card"><summary>What it is about</summary>{_list(lines)}</details>'


def _titled(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"<h2>{title}</h2>{_list(lines)}"


def _list(lines: Sequence[str]) -> str:
    return f'<ul class="lines">{"".join(f"<li>{line}</li>" for line in lines)}</ul>' if lines else ""


def _verdict(card: ReportCard) -> str:
    parts = []
    if card.verdict is not None:
        title = _OUTCOMES[card.verdict.outcome]
        parts.append(f"<strong>{title}</strong><p>{escape(card.verdict.message)}</p>")
    if (requirement := card.requirement) is not None:
        parts.append(f"<p>Required card: <b>{'passed' if requirement.met else 'not passed'}</b></p>")
        parts.append(
            _list(
                [
                    f"{'Met' if one.met else '<b>Not met</b>'}: {escape(one.condition)}. {escape(one.message)}"
                    for one in requirement.conditions
                ]
            )
        )
    tone = card.verdict.outcome if card.verdict else ""
    return f'<section class="card verdict" data-tone="{tone}">{"".join(parts)}</section>' if parts else ""


def _table(title: str, figures: Sequence[CardFigure]) -> str:
    # The roles are those of the elements, which lose them where a narrow screen lays the rows out in lines.
    columns = role_columns(figures)
    head = "".join(f"<th scope=col role=columnheader>{name}</th>" for _, name in columns)
    rows = "".join(
        f"<tr role=row><th scope=row role=rowheader>{escape(figure.title)} <small>{escape(figure.unit)}</small></th>"
        + "".join(_cell(figure, field) for field, _ in columns)
        + "</tr>"
        for figure in figures
    )
    label = escape(title, quote=True)
    return (
        f'<div class="card wide" tabindex="0" role="group" aria-label="{label}"><table class="figures" role="table">'
        f"<thead><tr role=row><td></td>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _cell(figure: CardFigure, field: str) -> str:
    if not field.endswith("change"):
        return f"<td role=cell>{_in_two_lines(estimate_text(getattr(figure, field)))}</td>"
    change = getattr(figure, field)
    tone = ""
    if change is not None and figure.better is not None and (change.low > 0 or change.high < 0):
        better = (change.value > 0) == (figure.better == "higher")
        tone = f' data-tone="{"better" if better else "worse"}"'
    return f"<td role=cell{tone}>{_in_two_lines(change_text(change))}</td>"


def _in_two_lines(text: str) -> str:
    """Allow a line break before the interval, but not within it."""
    return text.replace(", ", ",&nbsp;")


def _examples(title: str, completions: Sequence[CardCompletion]) -> str:
    if not completions:
        return ""
    return f"<h2>{title}</h2>" + "".join(map(_example, completions))


def _example(one: CardCompletion) -> str:
    before = "" if one.base_reward is None else f", base {number(one.base_reward)}"
    prompt = f'<pre tabindex="0">{escape(one.prompt)}</pre>' if one.prompt else ""
    answer = f"<small>Reference answer: {escape(one.answer)}</small>" if one.answer else ""
    return (
        f'<article class="card"><div class="prompt"><small>Row {one.row}</small>{prompt}{answer}</div>'
        f'<div class="completion"><p>reward <b>{number(one.reward)}</b>{before} · {one.tokens} tokens, '
        f'{escape(one.finish_reason)}</p><pre tabindex="0">{escape(one.text)}</pre></div></article>'
    )
