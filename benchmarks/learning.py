"""Does every preset learn? The demo's additions, one recipe for all, three seeds, at most 80 steps each.

Each preset that a single-turn job can run trains the starter model, which gets half of the held-out ones right, with
its slots as they are: learning rate 2e-4, 16 prompts × 8 completions of at most 56 tokens, temperature 1
(`preset_jobs.py` says the rest). Every 5 steps 64 held-out rows are answered twice; a run ends at its second evaluation
in a row of at least 0.9. It takes an hour on two cores. Interrupted, it continues where it stopped; runs are kept one
per line in `results/learning/runs.jsonl`, and what they come to is written to `results/learning.json`: a run whose
numbers stand there, of the job as it is now, is not done again.
"""

import datetime
import json
import sys
from pathlib import Path
from typing import Any

from common.learned import ACCURACY, of_run, over_seeds
from common.measure import RESULTS, machine, parser, table, write
from common.preset_jobs import (
    EVERY,
    LEARNING_RATE,
    STEPS,
    group_of,
    job,
    note_of,
    single_turn,
    updates_of,
    write_rows,
)
from common.runs import Result, Run, StopRule, run_all, stored

SEEDS = (0, 1, 2)
STOP = StopRule(at_least=0.9, in_a_row=2, metric=ACCURACY)
QUICK = ("grpo", "dr_grpo")


def cost(name: str) -> int:
    """Cheap ones go first: updates, then whatever samples again or looks twice."""
    algorithm = single_turn()[name].slots
    again = algorithm.get("selection", {}).get("type") in ("dynamic_sampling", "guided_correction")
    return updates_of(name) + 4 * again


def queue(names: list[str], seeds: tuple[int, ...], rows: Path, steps: int) -> list[Run]:
    """All presets with the first seed, then with the next."""
    order = sorted(names, key=cost)
    return [
        Run(name=name, seed=seed, spec=job(name, rows, steps=steps), stop=STOP)
        for seed in seeds
        for name in order
    ]


def describe(result: Result) -> str:
    values = [value for _, value in result.held_out.points(ACCURACY)]
    return f"held-out {values[0]:.2f} → {values[-1]:.2f}" if values else "no evaluation"


Stored = dict[tuple[str, int], dict[str, Any]]
"""What `of_run` says, by preset and seed."""


def committed(path: Path, runs: list[Run]) -> Stored:
    """Those of `runs` whose numbers stand in the results, of the same job."""
    if not path.exists():
        return {}
    presets = json.loads(path.read_text(encoding="utf-8"))["presets"]
    stored = {(name, run["seed"]): run for name, facts in presets.items() for run in facts["runs"]}
    digests = {(run.name, run.seed): run.digest for run in runs}
    return {key: run for key, run in stored.items() if run.get("digest") == digests.get(key)}


def summary(stored: Stored) -> dict[str, Any]:
    """Per preset: what was particular about its job, and its runs."""
    presets: dict[str, Any] = {}
    for name in single_turn():
        own = [stored[key] for key in sorted(stored) if key[0] == name]
        if own:
            facts = {"updates": updates_of(name), "group": group_of(name), "note": note_of(name)}
            presets[name] = facts | {"median_min_max": over_seeds(own), "runs": own}
    return presets


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--jobs", type=int, default=2, help="runs at a time")
    options.add_argument("--only", help="names of presets, with commas")
    options.add_argument("--seeds", type=int, default=len(SEEDS), help="how many")
    options.add_argument("--retry", action="store_true", help="run again what failed")
    options.add_argument("--report", action="store_true", help="train nothing: write what there is")
    arguments = options.parse_args()
    into = RESULTS / ("learning-quick" if arguments.quick else "learning")
    names = arguments.only.split(",") if arguments.only else list(QUICK if arguments.quick else single_turn())
    if unknown := set(names) - set(single_turn()):
        options.error(f"no preset of a single-turn job: {', '.join(sorted(unknown))}")
    steps, rows = 10 if arguments.quick else STEPS, write_rows(into / "data")
    every = queue(list(single_turn()), SEEDS, rows, steps)
    have = committed(into.with_suffix(".json"), every)
    if not arguments.report:
        seeds = tuple(range(1 if arguments.quick else arguments.seeds))
        runs = [run for run in queue(names, seeds, rows, steps) if (run.name, run.seed) not in have]
        run_all(runs, into, jobs=arguments.jobs, retry=arguments.retry, describe=describe)
    digests = {(run.name, run.seed): run.digest for run in every}
    results = [result for key, result in stored(into).items() if result.digest == digests.get(key)]
    have |= {(result.name, result.seed): of_run(result) for result in results}
    presets = summary(have)
    show(presets)
    recipe = {"learning_rate": LEARNING_RATE, "steps": STEPS, "every": EVERY, "stop": STOP.at_least}
    about = machine("reinforge", "torch", "transformers", "peft")
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    write(into.name, {"machine": about, "date": day, "recipe": recipe, "presets": presets}, depth=4)
    if failed := [result for result in results if not result.ok]:
        sys.exit("\n".join(f"{run.name} seed {run.seed}: {run.outcome}: {run.cause}" for run in failed))


def show(presets: dict[str, Any]) -> None:
    head = ("", "seed", "steps", "start", "end", "to 0.9", "entropy", "tokens", "clip low", "clip high", "s")
    rows = [
        (name, run["seed"], run["steps"], run["start"], run["end"], run["to_90"] or "–",
         *("–" if run[key] is None else f"{run[key][0]:.3g}→{run[key][1]:.3g}" for key in ("entropy", "length")),
         *("–" if run[key] is None else f"{run[key]:.1e}" for key in ("clip_low", "clip_high")), run["seconds"])
        for name, facts in presets.items()
        for run in facts["runs"]
    ]  # fmt: skip
    table(head, rows)


if __name__ == "__main__":
    main()
