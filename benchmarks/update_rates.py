"""Does `auto` have to fall with the updates per step? The rates of one update, beside rates divided by their number.

The starter model trains on the additions with 1, 2, 4 and 8 updates per step: 8 prompts × 8 completions, `grpo`, two
seeds, 25 steps. Every 5 steps 64 held-out rows are answered once. It takes 10 minutes on two cores. Results go to
`results/update_rates.json`, from which `default_page.py` writes the table of docs/learning-rate.md. Interrupted, it
continues where it stopped.
"""

import sys
from pathlib import Path
from typing import Any

from common.measure import RESULTS, parser, stamp, table, write
from common.runs import Result, Run, run_all
from common.task_rows import task_data

from reinforge.base_models.learning_rate import auto_initial_learning_rate, auto_learning_rate
from worker.starter.pretrain import HIDDEN

UPDATES = (1, 2, 4, 8)
SEEDS = (0, 1)
STEPS, EVERY = 25, 5
HELD_OUT = "held_out/reward_mean"


def job(updates: int, *, divided: bool, data: Path, steps: int) -> dict[str, Any]:
    """A raw `JobSpec`."""
    of = updates if divided else 1
    return {
        "model": "starter-arith",
        **task_data("additions", data),
        "algorithm": {"preset": "grpo", "updates_per_step": updates},
        "rollout": {"prompts_per_step": 8, "completions_per_prompt": 8, "max_completion_tokens": 64},
        "adapter": {"rank": 16},
        "optimizer": {
            "learning_rate": auto_learning_rate(HIDDEN, of),
            "initial_learning_rate": auto_initial_learning_rate(HIDDEN, of),
        },
        "evaluation": {"every_steps": EVERY, "rows": 64, "samples_per_row": 1, "pass_above": 0.0},
        "limits": {"steps": steps, "checkpoint_every": 1000},
    }


def runs(data: Path, *, updates: tuple[int, ...], seeds: tuple[int, ...], steps: int) -> list[Run]:
    return [
        Run(
            name=f"{count} updates/{'divided' if divided else 'as for one'}",
            seed=seed,
            spec=job(count, divided=divided, data=data, steps=steps),
        )
        for seed in seeds
        for count in updates
        for divided in ((True, False) if count > 1 else (False,))
    ]


def row(run: Run, result: Result) -> dict[str, Any]:
    values = [value for _, value in result.held_out.points(HELD_OUT)]
    return {
        "updates_per_step": run.spec["algorithm"]["updates_per_step"],
        "divided": run.name.endswith("divided"),
        "seed": run.seed,
        "learning_rate": run.spec["optimizer"]["learning_rate"],
        "outcome": result.outcome,
        "held_out": [None if value is None else round(value, 3) for value in values],
    }


def main() -> int:
    arguments = parser(__doc__.splitlines()[0]).parse_args()
    origin = stamp("torch")
    folder = RESULTS / "update_rates"
    updates, seeds, steps = ((4,), (0,), 2) if arguments.quick else (UPDATES, SEEDS, STEPS)
    chosen = runs(folder / "data", updates=updates, seeds=seeds, steps=steps)
    results = run_all(chosen, folder, jobs=2, describe=lambda result: result.outcome)
    rows = [row(run, result) for run, result in zip(chosen, results, strict=True)]
    table(
        ("updates per step", "rate", "seed", "held-out"),
        [(one["updates_per_step"], one["learning_rate"], one["seed"], one["held_out"]) for one in rows],
    )
    if not arguments.quick:
        write("update_rates", origin | {"steps": STEPS, "runs": rows}, depth=3)
    return int(any(one["outcome"] != "succeeded" for one in rows))


if __name__ == "__main__":
    sys.exit(main())
