"""Section of the ledger on presets for jobs with tools, from `benchmarks/results/tool_presets.json`."""

import json
from statistics import fmean
from typing import Any

from common.measure import RESULTS

from reinforge.comparison.held_out import difference

FILE = RESULTS / "tool_presets.json"
EXAMPLES = ("calculator-agent", "lookup", "countdown")
BASELINE, PRESETS = "grpo", ("grpo", "gagpo", "axpo", "ih_grpo")
HEAD = ("example", "preset", "seeds", "base", "tuned", "minus GRPO", "by the rule")
INTRO = """## Presets for tools

GAGPO, AXPO and IH-GRPO beside GRPO on the jobs of `examples/` with `starter-tools`, as these are; only the preset
differs. The rule was written before the first run: a preset is *better* than GRPO on an example if the 95 % interval of
the difference of held-out rewards after the last step, paired by prompt and averaged over seeds, lies above 0; *worse*
if it lies below 0; else *no difference*. Each should reach 0.85 on `calculator-agent`.
"""
NOTE = """All presets are near 1 on `calculator-agent` after ten of its 40 steps: they work, and the task says little
about which is best. `benchmarks/tool_presets.py` goes on with what has no result yet."""


def stored_runs() -> list[dict[str, Any]]:
    return json.loads(FILE.read_text(encoding="utf-8"))["runs"] if FILE.is_file() else []


def rows(runs: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    every = [compare(runs, example, preset) for example in EXAMPLES for preset in PRESETS]
    return [row for row in every if row is not None]


def section() -> list[str]:
    """Lines of the page."""
    cells = [HEAD, ("---", "---", *["---:"] * 4, "---"), *rows(stored_runs())]
    return [INTRO, *(f"| {' | '.join(row)} |" for row in cells), "", NOTE]


def compare(runs: list[dict[str, Any]], example: str, preset: str) -> tuple[str, ...] | None:
    """The row of a preset on an example; None if it has no runs there."""
    arms = {
        name: [one for one in runs if (one["example"], one["preset"]) == (example, name)]
        for name in (BASELINE, preset)
    }
    seeds = {name: {one["seed"] for one in arm} for name, arm in arms.items()}
    if not arms[preset]:
        return None
    tuned = _over_seeds(arms[preset], "tuned")
    base = fmean(_over_seeds(arms[preset], "base").values())
    row = (example, preset, str(len(arms[preset])), f"{base:.3f}", f"{fmean(tuned.values()):.3f}")
    if preset == BASELINE or seeds[preset] != seeds[BASELINE]:
        return (*row, "", "")
    change = difference(_over_seeds(arms[BASELINE], "tuned"), tuned)
    assert change is not None
    low, high = change.interval.low, change.interval.high
    mark = "better" if low > 0 else "worse" if high < 0 else "no difference"
    return (*row, f"{change.interval.value:+.3f} [{low:+.3f}, {high:+.3f}]", mark)


def _over_seeds(runs: list[dict[str, Any]], part: str) -> dict[str, float]:
    return {prompt: fmean(one[part][prompt] for one in runs) for prompt in runs[0][part]}
