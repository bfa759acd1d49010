"""Is the default learning rate a good one? `auto`, beside constant rates up to four times larger and smaller.

Models of hidden size 64, 128 and 256, pretrained like the starter (128 is the starter), train on two tasks with three
presets: 8 prompts × 8 completions a step, all else as the presets and defaults have it. Every 2 steps 64 held-out rows
are answered once. Measured are the steps to 0.9. A size of 512 is checked with one task, one preset and three rates.

It takes two hours on two cores. Interrupted, it continues where it stopped: runs are kept one per line in
`results/defaults/runs.jsonl`, models in `.reinforge/defaults`. What they come to is written to `results/defaults.json`
and `docs/learning-rate.md`.
"""

import datetime
import hashlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from common import default_page
from common.default_cells import (
    EVERY,
    FACTORS,
    FIRST_STOP,
    LATER_STOP,
    LEVEL,
    MORE,
    RULE,
    SHARE,
    STEPS,
    Cell,
    factor_name,
    limit,
    outcome,
    reached,
    verdict,
)
from common.measure import RESULTS, ROOT, machine, parser, table, write
from common.runs import Result, Run, run_all, stored
from common.task_rows import TASKS, task_data

from reinforge.base_models.learning_rate import INITIAL, SCALE, SETTLING_STEPS, auto_learning_rate
from worker import starter
from worker.starter.__main__ import make
from worker.starter.pretrain import HIDDEN, PHASES, PretrainPhase

WIDTHS = (64, 128, 256)
CHECKED = 512
PRESETS = ("grpo", "dr_grpo", "dapo")
CHECKED_CELL = Cell(CHECKED, "additions", "grpo", factors=(RULE, 2.0, 1.0, 0.5))
MODELS = ROOT / ".reinforge" / "defaults"
TOKENS = 64
SAMPLES = 32
"""That measure each phrasing of a model made here."""


def rate(width: int, factor: float) -> float | None:
    """A constant rate; None for the rule."""
    return None if factor == RULE else factor * auto_learning_rate(width)


def cells(widths: tuple[int, ...] = WIDTHS) -> list[Cell]:
    return [Cell(width, task, preset) for width in widths for task in TASKS for preset in PRESETS]


def phases(width: int) -> tuple[PretrainPhase, ...]:
    """The starter's; wider models learn only columns and habits, the widest in fewer and smaller steps."""
    ratio = HIDDEN / width
    share, taken = min(1.0, (max(WIDTHS) / width) ** 0.75), PHASES[:2] if ratio < 1 else PHASES
    return tuple(
        replace(
            phase,
            steps=round(phase.steps * share),
            batch=phase.batch // (2 if width > max(WIDTHS) else 1),
            peak_lr=phase.peak_lr * ratio**0.5,
        )
        for phase in taken
    )


def model(width: int) -> Path:
    """The folder of a model of this width, pretrained now if there is none: 5 to 40 minutes of one core."""
    if width == HIDDEN:
        return starter.CHECKPOINT
    recipe = hashlib.sha256(
        repr([(phase.name, phase.steps, phase.peak_lr) for phase in phases(width)]).encode()
    )
    for name in ("corpus", "phrasings", "pretrain"):
        recipe.update(starter.CHECKPOINT.with_name(f"{name}.py").read_bytes())
    folder = MODELS / f"w{width}-{recipe.hexdigest()[:8]}"
    if not (folder / "README.md").exists():  # the last file that is written
        make(folder, seed=0, hidden=width, phases=phases(width), samples=SAMPLES)
    return folder


def job(cell: Cell, folder: Path, constant: float | None, *, steps: int, data: Path) -> dict[str, Any]:
    """A raw `JobSpec`, with the rule where there is no constant rate."""
    return {
        "model": "starter-arith" if folder == starter.CHECKPOINT else str(folder),
        **task_data(cell.task, data),
        "algorithm": {"preset": cell.preset},
        "rollout": {
            "prompts_per_step": 8,
            "completions_per_prompt": 8,
            "max_completion_tokens": TOKENS,
        },
        "adapter": {"rank": 16},
        **({} if constant is None else {"optimizer": {"learning_rate": constant}}),
        # Rewards are 0 or 1, whatever a preset adds for length.
        "evaluation": {"every_steps": EVERY, "rows": 64, "samples_per_row": 1, "pass_above": 0.0},
        "limits": {"steps": steps, "checkpoint_every": 1000},
    }


def measure(chosen: list[Cell], into: Path, *, jobs: int, steps: int = STEPS) -> None:
    """All runs of these cells: the rule's, then rate by rate."""
    data = into / "data"
    results: dict[Cell, list[Result]] = {cell: [] for cell in chosen}
    for factor in FACTORS:
        turn = [cell for cell in chosen if factor in cell.factors]
        runs = [
            Run(
                name=cell.run_name(factor),
                seed=0,
                spec=job(
                    cell,
                    model(cell.width),
                    rate(cell.width, factor),
                    steps=min(steps, limit(results[cell])),
                    data=data,
                ),
                stop=LATER_STOP if results[cell] else FIRST_STOP,
            )
            for cell in turn
        ]
        if runs:
            for cell, result in zip(turn, run_all(runs, into, jobs=jobs, describe=_line), strict=True):
                results[cell].append(result)


def _line(result: Result) -> str:
    values = [value for _, value in result.held_out.points(FIRST_STOP.metric)]
    start_end = f"held-out {values[0]:.2f} → {values[-1]:.2f}" if values else "no evaluation"
    return f"{start_end}, {LEVEL} at {reached(result)}"


def outcomes(chosen: list[Cell], into: Path) -> list[dict[str, Any]]:
    """Of the cells that have a run."""
    have = stored(into)
    summaries = []
    for cell in chosen:
        results = {
            factor: result
            for factor in cell.factors
            if (result := have.get((cell.run_name(factor), 0))) is not None
        }
        if results:
            settled = auto_learning_rate(cell.width)
            rates = {factor: settled * (1.0 if factor == RULE else factor) for factor in cell.factors}
            summaries.append(outcome(cell, rates, results))
    return summaries


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--jobs", type=int, default=2, help="runs at a time")
    options.add_argument("--widths", help="hidden sizes, with commas (default: 64,128,256,512)")
    options.add_argument("--pretrain", action="store_true", help="only make the models of these widths")
    options.add_argument("--report", action="store_true", help="train nothing: write what there is")
    arguments = options.parse_args()
    torch.set_num_threads(1)
    into = RESULTS / ("defaults-quick" if arguments.quick else "defaults")
    every = [*cells(), CHECKED_CELL]
    widths = {int(width) for width in arguments.widths.split(",")} if arguments.widths else {*WIDTHS, CHECKED}
    if unknown := widths - {*WIDTHS, CHECKED}:
        options.error(f"no width of this benchmark: {', '.join(map(str, sorted(unknown)))}")
    if arguments.quick:
        every, widths = [Cell(HIDDEN, "additions", "grpo", factors=(RULE, 2.0))], {HIDDEN}
    if arguments.pretrain:
        for width in sorted(widths):
            print(model(width))
        return
    if not arguments.report:
        for width in (HIDDEN, *sorted(widths - {HIDDEN})):
            chosen = [cell for cell in every if cell.width == width and width in widths]
            measure(chosen, into, jobs=arguments.jobs, steps=6 if arguments.quick else STEPS)
    summaries = outcomes(every, into)
    show(summaries)
    summary = verdict(summaries, WIDTHS, len(cells()))
    print(
        f"\nThe rule is good in {summary['good']} of {summary['measured']} cells, {summary['diverged']} diverged"
    )
    content = {
        "machine": machine("reinforge", "torch", "transformers", "peft"),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "rule": {
            "scale": SCALE,
            "initial": INITIAL,
            "settling": SETTLING_STEPS,
            "level": LEVEL,
            "share": SHARE,
            "more": MORE,
            "every": EVERY,
        },
        "widths": list(WIDTHS),
        "verdict": summary,
        "cells": summaries,
    }
    write(into.name, content, depth=4)
    if not arguments.quick:
        default_page.PAGE.write_text(default_page.text_of(content), encoding="utf-8")
    if failed := [
        run for cell in summaries for run in cell["runs"] if run["outcome"] not in ("succeeded", "stopped")
    ]:
        sys.exit(f"{len(failed)} runs failed, see {into}/runs.jsonl")


def show(summaries: list[dict[str, Any]]) -> None:
    head = ("width", "task", "preset", "base", *map(factor_name, sorted(FACTORS)), "good")
    rows = []
    for cell in summaries:
        steps = {run["factor"]: run["steps"] or f">{run['cut_at']}" for run in cell["runs"]}
        by_rate = [steps.get(factor, "") for factor in sorted(FACTORS)]
        rows.append((cell["width"], cell["task"], cell["preset"], cell["base"], *by_rate, cell["good"]))
    table(head, rows)


if __name__ == "__main__":
    main()
