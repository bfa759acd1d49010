"""Curves as small SVG files, in the style of docs/algorithms.md: medians over seeds, with the range behind."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any
from xml.sax.saxutils import escape

from claims.fixtures import ROOT

IMAGES = ROOT / "docs" / "img"
WIDTH, HEIGHT = 620, 260
LEFT, RIGHT, TOP, BOTTOM = 46, 150, 30, 34
COLOURS = ("#2563a8", "#c2571a", "#1f8a5b", "#8a3fc0")
INK, GREY = "#1f2933", "#52606d"
SMOOTH = 3
"""Steps averaged, each with those before it."""

Points = Sequence[Sequence[float | None]]
"""One series per seed."""


@dataclass(frozen=True, slots=True)
class Picture:
    name: str
    title: str
    says: str
    """Below it, and what is read out."""
    lines: Mapping[str, tuple[str, str]]
    """label → (arm, training metric)."""
    scale: Mapping[str, float] | None = None
    """label → factor, for metrics of unlike size."""


PICTURES = (
    Picture(
        "claims-entropy",
        "Entropy (nat per token) by training step",
        "Entropy in the benchmark of learning, up to where the first seed stopped: `eda-entropy`, `edge-entropy`, "
        "`gtpo-entropy`.",
        {
            "GRPO": ("learning/grpo", "entropy/mean"),
            "EDA": ("learning/eda", "entropy/mean"),
            "EDGE-GRPO": ("learning/edge_grpo", "entropy/mean"),
            "GTPO": ("learning/gtpo", "entropy/mean"),
        },
    ),
    Picture(
        "claims-two-scales",
        "Two rewards, as shares of what there is to earn, by training step",
        "The large reward (0 to 100) and the small one (0 to 1) under MO-GRPO and under GRPO on their sum: "
        "`mo-grpo-raises-both`.",
        {
            "MO-GRPO, large": ("two_scales/mo_grpo", "reward/first_digit/mean"),
            "MO-GRPO, small": ("two_scales/mo_grpo", "reward/last_digit/mean"),
            "sum, large": ("two_scales/sum", "reward/first_digit/mean"),
            "sum, small": ("two_scales/sum", "reward/last_digit/mean"),
        },
        {"MO-GRPO, large": 0.01, "sum, large": 0.01},
    ),
)


def drawn(content: Mapping[str, Any]) -> dict[Path, str]:
    """Of the pictures whose curves are there, the SVG by path."""
    return {IMAGES / f"{picture.name}.svg": svg(picture, points) for picture, points in _pictures(content)}


def lines(content: Mapping[str, Any]) -> list[str]:
    """The page's paragraphs."""
    made = []
    for picture, _ in _pictures(content):
        made += [f"![{picture.title}](img/{picture.name}.svg)", "", picture.says, ""]
    return made


def _pictures(content: Mapping[str, Any]) -> list[tuple[Picture, dict[str, Points]]]:
    curves = content["curves"]
    return [
        (picture, {label: curves[arm][metric] for label, (arm, metric) in picture.lines.items()})
        for picture in PICTURES
        if all(arm in curves for arm, _ in picture.lines.values())
    ]


def svg(picture: Picture, points: Mapping[str, Points]) -> str:
    shortest = {label: min(len(seed) for seed in seeds) for label, seeds in points.items()}
    curves = {
        label: [_smooth(seed[: shortest[label]], (picture.scale or {}).get(label, 1.0)) for seed in seeds]
        for label, seeds in points.items()
    }
    top = max(value for seeds in curves.values() for seed in seeds for value in seed) * 1.05
    steps = max(len(seed) for seeds in curves.values() for seed in seeds)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'font-family="system-ui, sans-serif" font-size="11" role="img" aria-label="{escape(picture.title)}">',
        '<rect width="100%" height="100%" fill="#fff"/>',
        f'<text x="{LEFT}" y="16" fill="{INK}" font-weight="600">{escape(picture.title)}</text>',
        *_axes(top, steps),
    ]
    for colour, (label, seeds), place in zip(COLOURS, curves.items(), _places(curves, top), strict=False):
        low, high = ([edge(values) for values in zip(*seeds, strict=True)] for edge in (min, max))
        ribbon = [*_points(low, top, steps), *reversed(_points(high, top, steps))]
        middle = _points([median(values) for values in zip(*seeds, strict=True)], top, steps)
        parts += [
            f'<polygon points="{" ".join(ribbon)}" fill="{colour}" opacity="0.13"/>',
            f'<polyline points="{" ".join(middle)}" fill="none" stroke="{colour}" stroke-width="2"/>',
            f'<text x="{WIDTH - RIGHT + 8}" y="{place:.0f}" fill="{colour}">{escape(label)}</text>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _axes(top: float, steps: int) -> list[str]:
    parts = []
    for value in _ticks(top):
        y = _y(value, top)
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="{GREY}" opacity="0.35"/>'
        )
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" fill="{GREY}" text-anchor="end">{value:g}</text>')
    for step in (1, (1 + steps) // 2, steps):
        x = _x(step - 1, steps)
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 12}" fill="{GREY}" text-anchor="middle">{step}</text>')
    return parts


def _ticks(top: float) -> list[float]:
    """From 0 to below `top` in steps of 1, 2 or 5 times a power of ten, at most five of them."""
    power = 10.0 ** math.floor(math.log10(top))
    step = next(size for size in (power / 5, power / 2, power, 2 * power) if top / size <= 5)
    return [round(number * step, 10) for number in range(int(top / step) + 1)]


def _places(curves: Mapping[str, Sequence[Sequence[float]]], top: float) -> list[float]:
    """Heights of the labels beside the ends of the lines, at least 15 apart."""
    heights = [_y(median([seed[-1] for seed in seeds]), top) + 4 for seeds in curves.values()]
    placed = dict.fromkeys(range(len(heights)), 0.0)
    above = float("-inf")
    for number in sorted(placed, key=lambda number: heights[number]):
        above = placed[number] = max(heights[number], above + 15)
    over = max(0.0, max(placed.values()) - (HEIGHT - BOTTOM + 4))
    return [placed[number] - over for number in range(len(heights))]


def _points(values: Sequence[float], top: float, steps: int) -> list[str]:
    return [f"{_x(step, steps):.1f},{_y(value, top):.1f}" for step, value in enumerate(values)]


def _x(step: int, steps: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * step / max(1, steps - 1)


def _y(value: float, top: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top)


def _smooth(values: Sequence[float | None], factor: float) -> list[float]:
    scaled = [value * factor for value in values if value is not None]
    return [
        sum(scaled[max(0, at - SMOOTH + 1) : at + 1]) / len(scaled[max(0, at - SMOOTH + 1) : at + 1])
        for at in range(len(scaled))
    ]
