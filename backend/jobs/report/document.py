"""The HTML of a report: no script, no network, every string escaped."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

import yaml

from backend.jobs.report import figures
from backend.jobs.report.content import ReportContent
from backend.site.colors import COLORS
from reinforge import __version__
from reinforge.diagnosis.verdict import Points
from reinforge.schemas.jobs import Completion, CompletionGroup, JobDetail

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = COLORS + (Path(__file__).parent / "report.css").read_text(encoding="utf-8")
_OUTCOMES = {
    "learned": "Learned",
    "no_change": "No change",
    "worse_than_base": "Worse than the base",
    "unknown": "Unknown",
}
_TEXT_LIMIT = 8_000


def document(content: ReportContent, *, refresh_seconds: int | None = None) -> str:
    job = content.job
    refresh = f'<meta http-equiv="refresh" content="{refresh_seconds}">' if refresh_seconds else ""
    parts = (_header(content), _verdict(content), _tiles(content), _notes(job), _charts(content.series))
    rest = (_held_out(job, content.series), _samples(content.groups), _configuration(job), _footer())
    return page(job.name, "".join(parts + rest), refresh)


def notice(title: str, text: str) -> str:
    return page(title, f"<h1>{escape(title)}</h1><p>{escape(text)}</p>")


def page(title: str, body: str, meta: str = "") -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta name="robots" content="noindex">{meta}'
        f"<title>{escape(title)} · Reinforge</title><style>{_STYLE}</style></head>"
        f"<body><main>{body}</main></body></html>\n"
    )


def _header(content: ReportContent) -> str:
    job = content.job
    facts = {
        "Status": job.status.value,
        "Step": f"{job.progress.step} of {job.progress.steps}",
        "Model": job.model,
        "Dataset": content.dataset,
        "Rewards": ", ".join(job.reward_names),
        "Method": job.preset_title or "",
        "Tags": ", ".join(job.tags),
        "Started": _moment(job.started_at),
        "Ended": _moment(job.finished_at),
        "Job": job.id,
    }
    items = "".join(f"<li>{name} <b>{escape(value)}</b></li>" for name, value in facts.items() if value)
    return f'<p class="kind">Fine-tuning job</p><h1>{escape(job.name)}</h1><ul class="meta">{items}</ul>'


def _moment(time: datetime | None) -> str:
    return time.astimezone(UTC).strftime("%d %b %Y, %H:%M UTC") if time else ""


def _verdict(content: ReportContent) -> str:
    job, check = content.job, content.check
    detail = job.verdict_detail
    title = _OUTCOMES.get(job.verdict or "", "") or check.summary.title
    lines = [
        f"<strong>{escape(title)}</strong>",
        f"<p>{escape(detail.message if detail else check.message)}</p>",
    ]
    if detail and detail.change:
        change = detail.change
        lines.append(
            f"<p>Held-out reward against the base: {change.value:+.3f} "
            f"[{change.low:+.3f}, {change.high:+.3f}] (95 % interval over rows)</p>"
        )
    if job.error:
        lines.append(f"<p>Failed: {escape(job.error.message)} {escape(job.error.hint or '')}</p>")
    for one in check.observations:
        text = f"{one.message} {one.hint or ''}".strip()
        lines.append(
            f'<p class="finding" data-severity="{escape(one.severity)}"><b>{escape(one.title)}</b> {escape(text)}</p>'
        )
    return f'<section class="card verdict" data-tone="{escape(job.verdict or "")}">{"".join(lines)}</section>'


def _tiles(content: ReportContent) -> str:
    job = content.job
    values = {
        "Held-out reward, base": job.held_out_reward_before,
        "Held-out reward, newest": job.held_out_reward,
        "Train reward": _last(content.series.get("reward/mean")),
        "Completion length (tokens)": _last(content.series.get("completions/length_mean")),
        "Entropy (nat)": _last(content.series.get("entropy/mean")),
    }
    tiles = "".join(
        f"<div><dt>{name}</dt><dd>{figures.number(value)}</dd></div>"
        for name, value in values.items()
        if value is not None
    )
    return f'<dl class="tiles">{tiles}</dl>' if tiles else ""


def _last(points: Points | None) -> float | None:
    return points[-1][1] if points else None


def _notes(job: JobDetail) -> str:
    return f'<h2>Notes</h2><div class="card"><pre>{escape(job.notes)}</pre></div>' if job.notes else ""


def _charts(series: dict[str, Points]) -> str:
    parts = ["<h2>Charts</h2>"]
    for title, drawn in figures.sections(series):
        parts.append(f"<h3>{escape(title)}</h3>" if title != "Headline" else "")
        parts.append(f'<div class="charts">{"".join(map(figures.html, drawn))}</div>')
    return "".join(parts) if len(parts) > 1 else ""


def _held_out(job: JobDetail, series: dict[str, Points]) -> str:
    columns = figures.held_out_columns(series)
    values = {key: dict(series[key]) for key, _ in columns}
    steps = sorted({step for points in values.values() for step in points})
    if not steps:
        return ""
    head = "".join(f"<th scope=col>{escape(title)}</th>" for _, title in columns)
    rows = "".join(
        f"<tr{' data-best' if step == job.best_step else ''}><td>{_step_name(step, job)}</td>"
        + "".join(_cell(values[key].get(step)) for key, _ in columns)
        + "</tr>"
        for step in steps
    )
    return (
        '<h2>Held-out rows</h2><div class="card wide" tabindex="0" role="group" aria-label="Held-out rows"><table>'
        f"<thead><tr><th scope=col>Step</th>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _step_name(step: int, job: JobDetail) -> str:
    return f"{step} (base)" if step == 0 else f"{step} ★ best" if step == job.best_step else str(step)


def _cell(value: float | None) -> str:
    return f"<td>{'–' if value is None else figures.number(value)}</td>"


def _samples(groups: list[CompletionGroup]) -> str:
    if not groups:
        return ""
    first = groups[0]
    rows = "held-out rows" if first.split == "held_out" else "training rows"
    return f"<h2>Sample completions</h2><p>Step {first.step}, {rows}.</p>" + "".join(map(_group, groups))


def _group(group: CompletionGroup) -> str:
    answer = f"<small>Reference answer: {escape(_cut(group.answer))}</small>" if group.answer else ""
    return (
        f'<article class="card"><div class="prompt"><small>Prompt</small><pre tabindex="0">{_prompt(group)}</pre>'
        f"{answer}</div>{''.join(map(_completion, group.completions))}</article>"
    )


def _prompt(group: CompletionGroup) -> str:
    messages = [f"{one.get('role', '')}: {_plain(one.get('content'))}" for one in group.prompt_messages]
    return escape(_cut("\n\n".join(messages) or group.prompt))


def _plain(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def _completion(one: Completion) -> str:
    reward = "no reward" if one.reward is None else f"reward <b>{figures.number(one.reward)}</b>"
    scores = ", ".join(
        f"{result.name} {figures.number(result.value)}" for result in one.rewards if result.value is not None
    )
    scores = f" ({escape(scores)})" if len(one.rewards) > 1 and scores else ""
    end = f"{one.length} tokens, {escape(one.finish_reason)}"
    error = f" · {escape(one.error)}" if one.error else ""
    return (
        f'<div class="completion"><p>{reward}{scores} · {end}{error}</p>'
        f'<pre tabindex="0">{escape(_cut(one.text))}</pre></div>'
    )


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT_LIMIT else f"{text[:_TEXT_LIMIT]} … ({len(text):,} characters)"


def _configuration(job: JobDetail) -> str:
    parts: Iterator[tuple[str, dict[str, Any] | None]] = iter(
        [("As submitted", job.spec), ("With every default", job.resolved_spec)]
    )
    return "<h2>Configuration</h2>" + "".join(
        f'<details class="card"{" open" if title == "As submitted" else ""}><summary>{title}</summary>'
        f"<pre>{escape(_yaml(spec))}</pre></details>"
        for title, spec in parts
        if spec
    )


def _yaml(spec: dict[str, Any]) -> str:
    return yaml.safe_dump(spec, sort_keys=False, allow_unicode=True, width=100)


def _footer() -> str:
    moment = _moment(datetime.now(UTC))
    return f"<footer>Reinforge {escape(__version__)} · {moment} · one file, no network needed</footer>"
