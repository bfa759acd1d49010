"""docs/learning-rate.md, written from `defaults.json` and `update_rates.json` in `benchmarks/results`."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from common.default_cells import FACTORS, PAST, RULE, STAYS
from common.measure import RESULTS, ROOT
from reinforge.base_models.learning_rate import NARROWEST, auto_initial_learning_rate, auto_learning_rate

PAGE = ROOT / "docs" / "learning-rate.md"

TEXT = """# Default learning rate

`optimizer.learning_rate` defaults to `auto`: {scale:g} ÷ the hidden size of your base model (at least {narrowest}).
At hidden sizes from 128 to 256 the first step uses {initial:g} times that rate (`optimizer.initial_learning_rate`);
half of the difference decays within 4 steps, nine tenths within 14. Both numbers are computed when the job is
created, and the job shows them. A rate that you set is used from the first step on.
After `reinforge job change` or an automatic action, `reinforge job show` prints the rate in use and the step that
changed it.

| hidden size | first step | decays to | |
|---:|---:|---:|---|
{sizes}

Above 512 the rate is limited to 2e-5 to 1e-4, a common range for LoRA. Read your job's charts: if the reward does not
move within 50 steps, try twice the rate; if it falls or the KL divergence jumps, try half.

The higher initial rate helps if the model only has to do more often what it already does. A constantly high rate
destroys skills that take many steps to learn, and at a hidden size of 64 it did so within the first steps. Models
with a hidden size above 256 were not measured with a higher initial rate, so theirs is constant.

## Several updates per step

With [`algorithm.updates_per_step`](job-file.md#algorithm) above 1, `auto` divides both rates by that number: a step
then moves the weights about as far as one update would. Held-out reward of the starter model before training and after
25 steps (8 prompts × 8 completions, `grpo`, seeds 0 and 1), with the rates of one update and divided:

| updates per step | rates of one update | divided |
|---:|---|---|
{updates}

`benchmarks/update_rates.py`.

## How it was measured

Small models like the starter model, with hidden sizes {widths}, are trained by the same script (256 without its last
phase). Each is trained on {tasks} tasks with {presets} presets ({preset_names}), once with the rule and once with
each of five constant rates: a quarter of the rate that the rule decays to, half, the same, twice and four times. One
seed, 8 prompts × 8 completions per step, otherwise the defaults. Every {every} steps the model answers 64 held-out
rows once; the metric is the share of right answers, whatever else a preset rewards.

* `additions`: `47+85=`. The answer must be right. The model learns to show its working.
* `even`: `What is 47 + 85?`. The answer must be an even number without working, right or wrong. The model learns to
  omit the working and to write other digits.

A cell is the number of steps until {level} of the held-out answers were right at two consecutive evaluations. The
rule holds in a row if it needs at most {share:g} × the steps of the best constant rate, or {more} more, and does not
diverge: its mean over the next {past} steps stays above {stays:g}. Runs with a constant rate were stopped as soon as
they could no longer refute the rule: `> n` means that a run had not reached the level after n steps, not that its
rate is bad.

**The rule holds in {good} of {measured} rows{of_cells}; it diverged in {diverged}.**

{rows}

{checked}`benchmarks/defaults.py`, {date}, {cpu}, {cores} cores shared with other work, torch {torch}.
"""


def text_of(content: Mapping[str, Any]) -> str:
    """The page."""
    cells, summary, machine = content["cells"], content["verdict"], content["machine"]
    fitted = [cell for cell in cells if cell["width"] in content["widths"]]
    checked = [cell for cell in cells if cell["width"] not in content["widths"]]
    presets = list(dict.fromkeys(cell["preset"] for cell in fitted))
    missing = summary["cells"] - summary["measured"]
    rule = {"narrowest": NARROWEST, **content["rule"]}
    return TEXT.format(
        **rule,
        sizes="\n".join(_size(width, cells) for width in SIZES),
        updates=_updates(),
        widths=_listed([str(width) for width in content["widths"]]),
        tasks=_NUMBERS[len({cell["task"] for cell in fitted})],
        presets=_NUMBERS[len(presets)],
        preset_names=", ".join(f"`{preset}`" for preset in presets),
        past=PAST,
        stays=STAYS,
        good=summary["good"],
        measured=summary["measured"],
        of_cells=f" ({missing} more were not finished)" if missing else "",
        diverged=summary["diverged"],
        rows=_table(fitted),
        checked=f"At hidden size 512, with three constant rates:\n\n{_table(checked)}\n\n" if checked else "",
        date=content["date"],
        cpu=machine["cpu"],
        cores=machine["cores"],
        torch=machine["versions"]["torch"],
    )


SIZES = (64, 128, 256, 512, 896, 1536, 4096)
_CELLS = {64: 6, 128: 6, 256: 6, 512: 1}


def _size(width: int, cells: Sequence[Mapping[str, Any]]) -> str:
    """A hidden size, its rate, and in how many rows of the table below the rule was put to the test there."""
    done = sum(cell["good"] is not None for cell in cells if cell["width"] == width)
    state = f"measured: {done} of {_CELLS[width]} rows" if done else "not measured"
    return (
        f"| {width} | {auto_initial_learning_rate(width):.3g} | {auto_learning_rate(width):.3g} | {state} |"
    )


def _updates() -> str:
    """Rows of the table of several updates per step, as `update_rates.py` has measured them."""
    path = RESULTS / "update_rates.json"
    runs = json.loads(path.read_text(encoding="utf-8"))["runs"] if path.exists() else []
    lines = []
    for count in sorted({run["updates_per_step"] for run in runs}):
        texts = {
            divided: ", ".join(
                f"{run['held_out'][0]:.2f} → {run['held_out'][-1]:.2f}"
                for run in runs
                if (run["updates_per_step"], run["divided"]) == (count, divided)
            )
            for divided in (False, True)
        }
        lines.append(f"| {count} | {texts[False]} | {texts[True] or '–'} |")
    return "\n".join(lines)


_NUMBERS = ("no", "one", "two", "three", "four")


def _listed(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)


def _table(cells: Sequence[Mapping[str, Any]]) -> str:
    factors = sorted(FACTORS)
    head = ("hidden", "task", "preset", "before", *map(_times, factors), "holds")
    lines = [f"| {' | '.join(head)} |", "|---:|---|---|" + "---:|" * (len(factors) + 1) + "---|"]
    for cell in cells:
        steps = {run["factor"]: _steps(run) for run in cell["runs"]}
        holds = {True: "yes", False: "**no**", None: "not finished"}[cell["good"]]
        values = (
            cell["width"],
            cell["task"],
            f"`{cell['preset']}`",
            f"{cell['base']:.2f}",
            *(steps.get(factor, "–") for factor in factors),
            holds,
        )
        lines.append(f"| {' | '.join(map(str, values))} |")
    return "\n".join(lines)


def _times(factor: float) -> str:
    return {RULE: "rule", 0.25: "÷ 4", 0.5: "÷ 2", 1.0: "× 1", 2.0: "× 2", 4.0: "× 4"}[factor]


def _steps(run: Mapping[str, Any]) -> str:
    if run["diverged"]:
        return f"{run['steps'] or '–'}, diverged"
    return str(run["steps"]) if run["steps"] is not None else f"> {run['cut_at']}"
