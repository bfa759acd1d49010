"""Curves of a job as inline SVG: the web page's charts, without scripts."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from reinforge.diagnosis.verdict import Points
from reinforge.metrics import CHARTS, METRICS, family_of
from reinforge.metrics.definition import MetricChart

WIDTH, HEIGHT = 360, 150
_EDGE_LEFT, _EDGE_RIGHT, _EDGE_TOP, _EDGE_BOTTOM = 52, 10, 8, 20
_COLORS = ("c1", "c2", "c3", "c4")
_EVALUATED = "held_out/"


@dataclass(frozen=True, slots=True)
class Curve:
    label: str
    points: Points
    color: str
    dots: bool


@dataclass(frozen=True, slots=True)
class Figure:
    title: str
    unit: str
    curves: tuple[Curve, ...]
    low: Points = ()
    high: Points = ()
    start: float | None = None
    end: float | None = None


def sections(series: dict[str, Points]) -> list[tuple[str, list[Figure]]]:
    parts: dict[str, list[Figure]] = {}
    for chart in CHARTS:
        for figure in _figures(chart, series):
            if chart.section == "Headline" or _varies(figure):
                parts.setdefault(chart.section, []).append(figure)
    return list(parts.items())


def _figures(chart: MetricChart, series: dict[str, Points]) -> Iterator[Figure]:
    if chart.about:
        lines = [(line.key, line.label) for line in chart.lines if series.get(line.key)]
        if lines:
            yield _figure(chart, chart.title, lines, series)
        return
    by_title: dict[str, list[tuple[str, str]]] = {}
    for key in series:
        member = None if key in METRICS else family_of(key)
        if member is not None and member[0].chart == chart.id:
            family, names = member
            label = family.label.format(*names)
            by_title.setdefault(chart.title.format(*names), []).append((key, label))
    for title, lines in by_title.items():
        if len(lines) >= chart.minimum_lines:
            yield _figure(chart, title, lines, series)


def _figure(
    chart: MetricChart, title: str, lines: Sequence[tuple[str, str]], series: dict[str, Points]
) -> Figure:
    curves = tuple(
        Curve(label, series[key], _COLORS[place % len(_COLORS)], key.startswith(_EVALUATED))
        for place, (key, label) in enumerate(lines)
    )
    band = chart.band
    low, high = (series.get(band.low, ()), series.get(band.high, ())) if band else ((), ())
    return Figure(title, chart.unit, curves, low, high, chart.scale.start, chart.scale.end)


def _varies(figure: Figure) -> bool:
    return any(value != curve.points[0][1] for curve in figure.curves for _, value in curve.points)


def number(value: float) -> str:
    return f"{value:.4g}"


def html(figure: Figure) -> str:
    legend = "".join(
        f'<span><i style="background:var(--{curve.color})"></i>{escape(curve.label)}</span>'
        for curve in figure.curves
    )
    sentence = "; ".join(
        f"{curve.label} {number(curve.points[0][1])} → {number(curve.points[-1][1])}"
        for curve in figure.curves
    )
    return (
        f"<figure><figcaption><b>{escape(figure.title)}</b><small>{escape(figure.unit)}</small></figcaption>"
        f'<div class="legend">{legend}</div>{_plot(figure, sentence)}<p>{escape(sentence)}</p></figure>'
    )


def _plot(figure: Figure, sentence: str) -> str:
    pieces = [
        points for points in (figure.low, figure.high, *(one.points for one in figure.curves)) if points
    ]
    steps = [step for points in pieces for step, _ in points]
    values = [value for points in pieces for _, value in points]
    first, last = min(steps), max(max(steps), min(steps) + 1)
    bottom = min(values) if figure.start is None else min(figure.start, *values)
    top = max(values) if figure.end is None else max(figure.end, *values)
    if top - bottom < 1e-12:
        bottom, top = bottom - 0.5, top + 0.5

    def at(step: int, value: float) -> str:
        x = _EDGE_LEFT + (step - first) / (last - first) * (WIDTH - _EDGE_LEFT - _EDGE_RIGHT)
        y = _EDGE_TOP + (top - value) / (top - bottom) * (HEIGHT - _EDGE_TOP - _EDGE_BOTTOM)
        return f"{x:.1f},{y:.1f}"

    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(f"{figure.title}: {sentence}")}">'
    ]
    for value in (top, (top + bottom) / 2, bottom):
        x, y = at(first, value).split(",")
        parts.append(
            f'<path class="grid" d="M{x} {y}H{WIDTH - _EDGE_RIGHT}"/>'
            f'<text x="{_EDGE_LEFT - 6}" y="{float(y) + 4:.1f}" text-anchor="end">{value:.3g}</text>'
        )
    parts.append(
        f'<text x="{_EDGE_LEFT}" y="{HEIGHT - 4}">step {first}</text>'
        f'<text x="{WIDTH - _EDGE_RIGHT}" y="{HEIGHT - 4}" text-anchor="end">{last}</text>'
    )
    if figure.low and figure.high:
        outline = " ".join(
            [at(*point) for point in figure.high] + [at(*point) for point in reversed(figure.low)]
        )
        parts.append(f'<polygon points="{outline}" fill="var(--c1)" opacity="0.14"/>')
    for curve in figure.curves:
        line = " ".join(at(*point) for point in curve.points)
        parts.append(f'<polyline points="{line}" style="stroke:var(--{curve.color})"/>')
        if curve.dots or len(curve.points) == 1:
            for point in curve.points:
                x, y = at(*point).split(",")
                parts.append(f'<circle cx="{x}" cy="{y}" r="2.5" fill="var(--{curve.color})"/>')
    return "".join(parts) + "</svg>"


def held_out_columns(series: dict[str, Points]) -> list[tuple[str, str]]:
    """(key, title) of the table's held-out metrics; interval bounds are left out."""
    columns: list[tuple[str, str]] = []
    for key in series:
        if not key.startswith(_EVALUATED) or key.endswith(("/low", "/high")):
            continue
        if key in METRICS:
            columns.append((key, METRICS[key].title))
            continue
        if member := family_of(key):
            columns.append((key, member[0].title.format(*member[1])))
    return columns


def finite(points: Points) -> Points:
    return [(step, value) for step, value in points if math.isfinite(value)]
