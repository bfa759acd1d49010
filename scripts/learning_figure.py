"""The learning curves of all presets as small multiples, one SVG; written by scripts/algorithm_docs.py."""

from typing import Any

from reinforge.presets import FAMILIES

COLUMNS, CELL_WIDTH, CELL_HEIGHT = 6, 160, 112
PLOT_LEFT, PLOT_TOP, PLOT_WIDTH, PLOT_HEIGHT = 28, 24, 120, 66
HEAD = 26
"""Height of a family's heading."""
LOW, HIGH, GOAL = 0.0, 1.0, 0.9
STYLE = """
text { font: 11px system-ui, sans-serif; fill: #1f2933 }
.family { font-weight: 600; font-size: 13px }
.axis { font-size: 9px; fill: #52606d }
.frame { stroke: #cbd2d9; fill: none }
.goal { stroke: #9aa5b1; stroke-dasharray: 2 3; fill: none }
.run { fill: none; stroke: #2563a8; stroke-width: 1.4; stroke-opacity: 0.75; stroke-linejoin: round }
.end { fill: #2563a8 }
"""


def figure(presets: dict[str, Any], steps: int) -> str:
    """`presets` as in benchmarks/results/learning.json; the horizontal axis ends at `steps`."""
    parts: list[str] = []
    top = 8
    for family, members in FAMILIES.items():
        names = [name for name in members if name in presets]
        if not names:
            continue
        parts.append(f'<text class="family" x="8" y="{top + 15}">{family.capitalize()}</text>')
        for number, name in enumerate(names):
            x = number % COLUMNS * CELL_WIDTH
            y = top + HEAD + number // COLUMNS * CELL_HEIGHT
            parts.append(f'<g transform="translate({x} {y})">{cell(name, presets[name]["runs"], steps)}</g>')
        top += HEAD + -(-len(names) // COLUMNS) * CELL_HEIGHT
    width, height = COLUMNS * CELL_WIDTH + 8, top + 8
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" role="img" aria-label="Held-out accuracy over steps, one panel per preset">',
            f'<style>{STYLE}</style><rect width="100%" height="100%" fill="#fff"/>',
            *parts,
            "</svg>\n",
        ]
    )


def cell(name: str, runs: list[dict[str, Any]], steps: int) -> str:
    """One preset: a line per seed, from the first evaluation to the last."""
    goal = vertical(GOAL)
    right, bottom = PLOT_LEFT + PLOT_WIDTH, PLOT_TOP + PLOT_HEIGHT
    parts = [
        f'<text x="{PLOT_LEFT}" y="{PLOT_TOP - 7}">{name}</text>',
        f'<path class="frame" d="M{PLOT_LEFT} {PLOT_TOP}V{bottom}H{right}"/>',
        f'<path class="goal" d="M{PLOT_LEFT} {goal}H{right}"/>',
        *(
            f'<text class="axis" text-anchor="end" x="{PLOT_LEFT - 4}" y="{vertical(value) + 3}">{value}</text>'
            for value in (0, 0.5, GOAL)
        ),
        f'<text class="axis" x="{PLOT_LEFT - 2}" y="{bottom + 11}">0</text>',
        f'<text class="axis" text-anchor="end" x="{right}" y="{bottom + 11}">{steps}</text>',
    ]
    for run in runs:
        points = [(horizontal(step, steps), vertical(value)) for step, value in run["curve"]]
        if points:
            line = " ".join(f"{x},{y}" for x, y in points)
            parts.append(f'<polyline class="run" points="{line}"/>')
            parts.append(f'<circle class="end" cx="{points[-1][0]}" cy="{points[-1][1]}" r="1.8"/>')
    return "".join(parts)


def horizontal(step: float, steps: int) -> float:
    return round(PLOT_LEFT + PLOT_WIDTH * step / steps, 1)


def vertical(value: float) -> float:
    """Values outside of the axis stay at its ends."""
    inside = min(max(value, LOW), HIGH)
    return round(PLOT_TOP + PLOT_HEIGHT * (HIGH - inside) / (HIGH - LOW), 1)
