"""Small line charts side by side, as one SVG: both axes logarithmic, every measured value is a point."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 210, 230
"""Of a panel."""
LEFT, RIGHT, TOP, BOTTOM = 40, 12, 58, 38
COLOURS = ("#2563a8", "#c2571a", "#1f8a5b", "#8a3fc0")
INK, GREY = "#1f2933", "#52606d"

Points = Sequence[tuple[float, float]]
"""(x, y), both above 0."""


@dataclass(frozen=True, slots=True)
class Panel:
    label: str
    """Of the horizontal axis."""
    lines: Mapping[str, Points]


def drawn(title: str, panels: Sequence[Panel]) -> str:
    """All panels share the vertical axis, and one list of lines."""
    names = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    values = [y for panel in panels for points in panel.lines.values() for _, y in points]
    heights = (min(values), max(values))
    width = WIDTH * len(panels)
    legend = "".join(
        f'<tspan fill="{colour}" dx="{12 if number else 0}">● {escape(name)}</tspan>'
        for number, (name, colour) in enumerate(zip(names, COLOURS, strict=False))
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}" '
        f'font-family="system-ui, sans-serif" font-size="11" role="img" aria-label="{escape(title)}">',
        '<rect width="100%" height="100%" fill="#fff"/>',
        f'<text x="{LEFT}" y="16" fill="{INK}" font-weight="600">{escape(title)}</text>',
        f'<text x="{LEFT}" y="34">{legend}</text>',
    ]
    for number, panel in enumerate(panels):
        parts += [f'<g transform="translate({WIDTH * number} 0)">', *_panel(panel, names, heights), "</g>"]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(panel: Panel, names: Sequence[str], heights: tuple[float, float]) -> Iterator[str]:
    wide = sorted({x for points in panel.lines.values() for x, _ in points})
    ends = (wide[0], wide[-1])
    for tick in ticks(*heights):
        y = _y(tick, heights)
        yield f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="{GREY}" opacity="0.3"/>'
        yield f'<text x="{LEFT - 5}" y="{y + 4:.1f}" fill="{GREY}" text-anchor="end">{tick:g}</text>'
    for x in wide:
        yield (
            f'<text x="{_x(x, ends):.1f}" y="{HEIGHT - BOTTOM + 16}" fill="{GREY}" text-anchor="middle">{x:g}</text>'
        )
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield f'<text x="{middle}" y="{HEIGHT - 6}" fill="{INK}" text-anchor="middle">{escape(panel.label)}</text>'
    for name, colour in zip(names, COLOURS, strict=False):
        places = [(_x(x, ends), _y(y, heights)) for x, y in panel.lines.get(name, ())]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        yield f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>'
        yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places)


def ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten from `low` to `high`, or those powers alone where they are many; at least one."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1,)):
        candidates = [step * 10.0**power for power in powers for step in steps]
        inside = [value for value in candidates if low <= value <= high]
        if len(inside) <= 7:
            break
    return inside or [low]


def _x(value: float, ends: tuple[float, float]) -> float:
    return LEFT + 8 + (WIDTH - LEFT - RIGHT - 16) * _share(value, ends)


def _y(value: float, ends: tuple[float, float]) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * _share(value, ends)


def _share(value: float, ends: tuple[float, float]) -> float:
    low, high = ends
    return 0.5 if low == high else math.log(value / low) / math.log(high / low)
