"""Does sampling one step ahead cost quality? The demo's job with `rollout.ahead` 1 beside 0, by the same seeds.

The starter model trains on the additions as in case a of `trainer_vs_trl.py` (which measures the time): 16 prompts × 8
completions, 60 steps, five seeds. At the end 512 held-out rows are answered once. Compared are the rewards of the same
rows: the interval over rows is of the mean over seeds, the interval over seeds is Student's of the five means. It
takes 15 minutes on two cores. Results go to `results/ahead.json`. Interrupted, it continues where it stopped.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from common.folder import Folder
from common.measure import RESULTS, parser, stamp, table, write
from common.runs import Result, Run, run_all
from common.task_rows import task_data

from reinforge.comparison.held_out import interval
from worker.starter.corpus import demo_rows

SEEDS = (0, 1, 2, 3, 4)
STEPS, ROWS = 60, 512
LEAST = -0.03
"""Where the interval of the difference has to begin at least."""
STUDENT_95 = 2.776
"""Of four degrees of freedom, two-sided."""


def job(ahead: int, data: dict[str, Any], *, steps: int, rows: int) -> dict[str, Any]:
    """A raw `JobSpec`."""
    return {
        "model": "starter-arith",
        **data,
        "algorithm": {"preset": "grpo", "loss": {"aggregation": {"type": "token_mean"}}},
        "rollout": {
            "prompts_per_step": 16,
            "completions_per_prompt": 8,
            "max_completion_tokens": 56,
            "ahead": ahead,
        },
        "adapter": {"rank": 16},
        "optimizer": {"learning_rate": 6.0e-4},
        "evaluation": {"every_steps": steps, "rows": rows, "samples_per_row": 1, "pass_above": 0.0},
        "limits": {"steps": steps, "checkpoint_every": 1000},
    }


def rows_of(folder: Path, count: int) -> dict[str, Any]:
    parts = task_data("additions", folder)
    held_out = Path(parts["data"]["held_out"])
    lines = [
        json.dumps({"prompt": f"{row['a']}+{row['b']}=", "answer": row["answer"]})
        for row in demo_rows(0, count, held_out=True)
    ]
    held_out.write_text("\n".join(lines), encoding="utf-8")
    return parts


def last_rewards(folder: Folder) -> dict[str, Any]:
    last = folder.series("held_out").steps[-1]
    completions = folder.completions("held_out", last)
    rewards = {str(one["prompt_no"]): one["reward"] for one in completions}
    staleness = folder.series("train")["sampler/staleness"]
    return {
        "rewards": rewards,
        "staleness": fmean([value for value in staleness if value is not None] or [0]),
    }


def report(results: Sequence[Result]) -> dict[str, Any]:
    """Differences of rewards, ahead minus not. `results` alternate: without, with."""
    pairs = list(zip(results[::2], results[1::2], strict=True))
    seeds, by_row = [], dict[str, list[float]]()
    for without, with_ahead in pairs:
        first, second = without.extra["rewards"], with_ahead.extra["rewards"]
        if first.keys() != second.keys():
            raise SystemExit(f"seed {without.seed}: the jobs were evaluated on other rows")
        for row, reward in first.items():
            by_row.setdefault(row, []).append(second[row] - reward)
        means = fmean(first.values()), fmean(second.values())
        seeds.append(
            {
                "seed": without.seed,
                "in_turn": means[0],
                "ahead": means[1],
                "staleness": with_ahead.extra["staleness"],
            }
        )
    over_rows = interval([fmean(changes) for changes in by_row.values()])
    assert over_rows is not None
    changes = [seed["ahead"] - seed["in_turn"] for seed in seeds]
    half = STUDENT_95 * stdev(changes) / len(changes) ** 0.5 if len(changes) == len(SEEDS) else None
    return {
        "rows": len(by_row),
        "difference": over_rows.value,
        "interval_over_rows": [over_rows.low, over_rows.high],
        "interval_over_seeds": None if half is None else [over_rows.value - half, over_rows.value + half],
        "wanted_above": LEAST,
        "seeds": seeds,
    }


def main() -> int:
    arguments = parser(__doc__.splitlines()[0]).parse_args()
    origin = stamp("torch")
    folder = RESULTS / "ahead"
    seeds, steps, rows = ((0, 1), 2, 16) if arguments.quick else (SEEDS, STEPS, ROWS)
    data = rows_of(folder / "data", rows)
    runs = [
        Run(
            name=f"ahead {ahead}",
            seed=seed,
            spec=job(ahead, data, steps=steps, rows=rows),
            read=last_rewards,
        )
        for seed in seeds
        for ahead in (0, 1)
    ]
    results = run_all(
        runs, folder, jobs=2, describe=lambda result: f"{fmean(result.extra['rewards'].values()):.3f}"
    )
    if failed := [result for result in results if not result.ok]:
        raise SystemExit(f"{failed[0].name} seed {failed[0].seed}: {failed[0].cause}")
    compared = report(results)
    table(
        ("seed", "in turn", "ahead", "staleness"),
        [(one["seed"], one["in_turn"], one["ahead"], one["staleness"]) for one in compared["seeds"]],
    )
    low, high = compared["interval_over_rows"]
    print(f"difference {compared['difference']:.4f} [{low:.4f}, {high:.4f}] over {compared['rows']} rows")
    print(f"over seeds: {compared['interval_over_seeds']}")
    if not arguments.quick:
        write("ahead", origin | {"steps": STEPS, **compared}, depth=3)
    return int(low <= LEAST)


if __name__ == "__main__":
    sys.exit(main())
