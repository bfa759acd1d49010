"""The learning results of benchmarks/learning.py for docs/algorithms.md: a column, a section and a picture."""

import json
from pathlib import Path
from typing import Any

import learning_figure

from reinforge.presets import PRESETS, cards

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "learning.json"
PICTURE = ROOT / "docs" / "img" / "learning.svg"
TARGET = 0.85

UNCLIPPED = {
    "reinforce": "no ratio",
    "opo": "no ratio",
    "cispo": "cap 5",
    "scale_rl": "cap 5",
    "sapo": "soft gate",
    "vespo": "soft gate",
    "drpo": "soft pull",
    "gmpo": "bound e^±0.4",
    "dppo": "bound on divergence",
    "r1_zero": "bound 11, none below",
    "grpo_s": "mean of ratios",
    "passk_max": "few updates",
}
"""Why no token was clipped: there is no hard bound, or four updates do not reach it."""

SECTION = """## Learning

Every preset for single-turn jobs was trained on the demo's additions with the starter model, changing only its slots:
learning rate {rate:g}, LoRA r = 16, 128 completions per step (16 prompts × 8 unless noted) of at most 56 tokens at
temperature 1, 4 updates per step (1 for REINFORCE's loss, which has no ratio), {seeds} seeds each. Every {every} steps
the 64 held-out additions are answered twice; *held-out* is the share of right answers. **A run ends at its second
consecutive evaluation of at least {stop}, or after {steps} steps**, so most runs were stopped before their best value.
A level is reached at the first of two consecutive evaluations. The standard error of one evaluation is 0.03 at 0.9.
Runs with the same seed use the same rows and random numbers, so their curves are similar.

Three numbers are median, minimum and maximum over the seeds; arrows go from start to end (medians). Entropy is in nats
per token, length in tokens; *clipped* are the mean shares of tokens clipped by the lower and upper bound; GiB is the
trainer's peak resident size.

`benchmarks/learning.py`, {date}, {cpu}, {cores} cores shared with other work, torch {torch}, no GPU. The starter model
was retrained on 24 November 2026: the new weights answer 47% of these additions, the ones used here 48.5%.

![Held-out accuracy over steps, one panel per preset, one line per seed](img/learning.svg)
"""


def load() -> dict[str, Any]:
    results: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return results


def seeds(results: dict[str, Any]) -> str:
    """How many each preset has: `3`, or `1 to 3`."""
    counts = {len(entry["runs"]) for entry in results["presets"].values()}
    return str(max(counts)) if len(counts) == 1 else f"{min(counts)} to {max(counts)}"


def problems(results: dict[str, Any]) -> list[str]:
    """Presets without a result, and those that do not learn and whose card does not say why."""
    presets = results["presets"]
    messages = []
    for name, preset in PRESETS.items():
        if cards.single_turn_refusal(name, preset) is not None:
            continue
        if name not in presets:
            messages.append(
                f"{name} has no result in {RESULTS.relative_to(ROOT)}: run benchmarks/learning.py"
            )
            continue
        if not reached(presets[name]) and not preset.learning:
            messages.append(
                f"{name} did not reach {TARGET} with every seed: say why in its card (`learning`)"
            )
        if not clipped(presets[name]) and name not in UNCLIPPED:
            messages.append(f"{name} never clipped a token: say why in scripts/learning_docs.py")
    return messages


def reached(entry: dict[str, Any]) -> bool:
    """With every seed."""
    return all(run["to_85"] is not None for run in entry["runs"])


def clipped(entry: dict[str, Any]) -> bool:
    """Some token, with some seed."""
    return any((run["clip_low"] or 0) + (run["clip_high"] or 0) > 0 for run in entry["runs"])


def column(name: str, results: dict[str, Any]) -> str:
    """A variant's cell: held-out median, and steps to the goal."""
    entry = results["presets"].get(name)
    if entry is None:
        return "–"
    numbers = entry["median_min_max"]
    steps = numbers["to_90"]
    goal = results["recipe"]["stop"]
    when = f"{goal} after {spread(steps, '.0f')} steps" if steps[0] is not None else f"{goal} not reached"
    return f"{numbers['start'][0]:.2f} → {numbers['end'][0]:.2f}<br>{when}"


def section(results: dict[str, Any]) -> str:
    recipe, machine = results["recipe"], results["machine"]
    presets = results["presets"]
    intro = SECTION.format(
        rate=recipe["learning_rate"],
        seeds=seeds(results),
        every=recipe["every"],
        stop=recipe["stop"],
        steps=recipe["steps"],
        date=results["date"],
        cpu=machine["cpu"],
        cores=machine["cores"],
        torch=machine["versions"]["torch"],
    )
    head = ("preset", "held-out at the end", "steps to 0.85", "steps to 0.9", "entropy", "length", "clipped",
            "GiB", "note")  # fmt: skip
    lines = [intro, f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    lines += [f"| {' | '.join(row(name, presets[name]))} |" for name in PRESETS if name in presets]
    return "\n".join([*lines, ""])


def row(name: str, entry: dict[str, Any]) -> tuple[str, ...]:
    numbers = entry["median_min_max"]
    return (
        f"`{name}`",
        spread(numbers["end"], ".2f"),
        spread(numbers["to_85"], ".0f"),
        spread(numbers["to_90"], ".0f"),
        arrow(numbers["entropy"], ".3f"),
        arrow(numbers["length"], ".0f"),
        " / ".join(share(numbers[key][0]) for key in ("clip_low", "clip_high"))
        if clipped(entry)
        else f"0: {UNCLIPPED[name]}",
        f"{numbers['memory_gib'][0]:.2f}" if numbers["memory_gib"][0] else "–",
        ". ".join(filter(None, (entry["note"], PRESETS[name].learning))).replace("|", "\\|"),
    )


def spread(values: list[float | None], form: str) -> str:
    """`20 (15–25)`; what was never reached is a dash."""
    middle, low, high = ("–" if value is None else format(value, form) for value in values)
    return middle if middle == low == high else f"{middle} ({low} to {high})"


def arrow(pair: list[float] | None, form: str) -> str:
    return " → ".join(format(value, form) for value in pair) if pair else "–"


def share(value: float | None) -> str:
    """A share as a percentage with two significant digits."""
    if value is None:
        return "–"
    return f"{100 * value:.2g}%" if value else "0"


def picture(results: dict[str, Any]) -> str:
    ends = [run["steps"] for entry in results["presets"].values() for run in entry["runs"]]
    return learning_figure.figure(results["presets"], max([20, *ends]))
