"""Does the diagnosis find what users do wrong, and stay silent where nothing is?

Each failure of `zoo/failures.py` is a real job of the starter model on the CPU, with three seeds; each preset that a
single-turn job can run is a healthy job. A finished run becomes one small file in `results/diagnosis_zoo/`, which holds
its series and its specification: runs that stand there, of the job as it is now, are not done again, so the script can
be stopped and continued. One failure cannot be had on a real job: its series is constructed and marked.

Thresholds were fitted on `FITTED_SEEDS`, the demo's sums. What is reported comes from `SEEDS`: other numbers, asked in
words, and other seeds.

Then each file is diagnosed as the backend does it, step by step. `found` counts failing runs with a finding that names
the cause; `right_first` those where it comes first; `in_time` those where it could be reported at most 20 steps after
the harm can be measured. A healthy run's findings are false alarms, also those that a later step takes back. `--heal`
runs each failing job of the first seed again with the change of its first remedy; `zoo/healing.py` says what heals.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from common.measure import RESULTS, stamp, table
from common.preset_jobs import single_turn
from common.runs import Result, Run, run_all, stored
from zoo import constructed, data, judge, page, truth
from zoo.diagnosis import alarms
from zoo.failures import ALL, JUDGE_PORT, REAL, healthy
from zoo.healing import outcome, rerun
from zoo.score import failing_row, healthy_row, totals
from zoo.stored import Kind, StoredRun, of_result, read_all

SEEDS = (3, 4, 5)
"""Of the runs that are reported, on sums in words."""
FITTED_SEEDS = (0, 1, 2)
"""Of the runs that thresholds were fitted on, on the demo's sums."""
FOLDER = RESULTS / "diagnosis_zoo"
WORK = RESULTS / "diagnosis_zoo-runs"
"""Data sets, logs and unfinished runs; not committed."""
DATA = WORK / "data"
HEALTHY = "healthy-"


def data_of(seed: int) -> Path:
    return DATA if seed in FITTED_SEEDS else DATA / data.IN_WORDS


def failing_runs(seeds: Sequence[int]) -> list[Run]:
    return [Run(f.name, seed, f.spec(data_of(seed)), read=truth.read) for seed in seeds for f in REAL]


def healthy_runs(seed: int) -> list[Run]:
    return [
        Run(f"{HEALTHY}{preset}", seed, healthy(preset, data_of(seed)), read=truth.read)
        for preset in single_turn()
    ]


def queue(seeds: Sequence[int]) -> list[Run]:
    """The presets, whose count has a goal of its own, then all failures by seed."""
    return [*healthy_runs(seeds[0]), *failing_runs(seeds)]


def kind_of(run: Run) -> Kind:
    if run.name.endswith("-healed"):
        return "healed"
    return "healthy" if run.name.startswith(HEALTHY) else "failing"


def keep(runs: list[Run]) -> None:
    """Write the files of finished runs that have none yet."""
    existing, by_key = read_all(FOLDER), {(run.name, run.seed): run for run in runs}
    for key, result in stored(WORK).items():
        run = by_key.get(key)
        if run is None or result.digest != run.digest or result.outcome in ("refused", "crashed", "unread"):
            continue
        if key not in existing or existing[key].digest != run.digest:
            of_result(run, result, kind_of(run), DATA).write(FOLDER)


def train(runs: list[Run], jobs: int) -> None:
    def describe(result: Result) -> str:
        points = [f"{value:.2f}" for _, value in result.extra["accuracy"]["held_out"]]
        return f"right sums on held-out rows {' '.join(points)}"

    keep(runs)
    existing = read_all(FOLDER)
    missing = [run for run in runs if getattr(existing.get((run.name, run.seed)), "digest", "") != run.digest]
    judged = any("judges" in run.spec for run in missing)
    with judge.serve(JUDGE_PORT) if judged else nullcontext():
        try:
            run_all(missing, WORK, jobs=jobs, describe=describe)
        finally:
            keep(runs)


def construct() -> None:
    for seeds in (FITTED_SEEDS, SEEDS):
        model = read_all(FOLDER).get((f"{HEALTHY}grpo", seeds[0]))
        if model is not None:
            constructed.write_all(model, FOLDER, seeds)


def heal(runs: list[Run], jobs: int) -> None:
    """Run every failing job again with the change of its first remedy; equal jobs once."""
    have = read_all(FOLDER)
    failing = [run for run in runs if (run.name, run.seed) in have and kind_of(run) == "failing"]
    again = [rerun(run, alarms(have[run.name, run.seed])) for run in failing]
    by_digest = {run.digest: run for run in reversed(again) if run is not None}
    train(list(reversed(by_digest.values())), jobs)


def scored(runs: dict[tuple[str, int], StoredRun], seeds: Sequence[int] = SEEDS) -> Iterator[dict[str, Any]]:
    order = {failure.name: number for number, failure in enumerate(ALL)}
    jobs = {(run.name, run.seed): run for run in failing_runs(seeds)}
    healthy = runs.get((f"{HEALTHY}grpo", seeds[0]))
    for run in sorted(runs.values(), key=lambda run: (order.get(run.name, len(order)), *run.key)):
        if run.seed not in seeds or run.kind == "healed":
            continue
        reported = alarms(run)
        if run.kind == "healthy":
            yield healthy_row(run, reported)
            continue
        row = failing_row(run, reported)
        if run.kind == "failing" and healthy is not None:
            row |= outcome(run, jobs[run.key], reported, runs, healthy)
        yield row


def report(out: Path | None, docs: Path | None) -> dict[str, Any]:
    runs = read_all(FOLDER)
    rows, fitted = list(scored(runs)), list(scored(runs, FITTED_SEEDS))
    result = totals(rows) | {"fitted": totals(fitted)}
    head = ("", "seed", "onset", "right", "delay", "findings")
    lines = [
        (row["name"], row["seed"], row["onset"] or "–", row["right_first"],
         "–" if row["delay"] is None else row["delay"], " ".join(code for code, *_ in row["findings"]))
        for row in rows if row["kind"] != "healthy"
    ]  # fmt: skip
    table(head, lines)
    for row in rows:
        if row["kind"] == "healthy" and row["findings"]:
            print(f"false alarm: {row['name']}: {row['findings']}")
    summary = {key: value for key, value in result.items() if key not in ("confusion", "fitted")}
    print(json.dumps(summary, indent=1))
    if out is not None:
        text = ",\n".join(json.dumps(row) for row in [*rows, *fitted])
        head_text = json.dumps(stamp("reinforge", "torch", "transformers") | result, indent=1).removesuffix(
            "\n}"
        )
        out.write_text(f'{head_text},\n "rows": [\n{text}\n]}}\n', encoding="utf-8")
    if docs is not None:
        page.write(docs, result, rows, len(single_turn()))
    return result


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--json", type=Path, metavar="OUT", help="write the result there")
    options.add_argument("--jobs", type=int, default=2, help="runs at a time")
    options.add_argument("--only", help="names of runs, with commas")
    options.add_argument("--seeds", type=int, default=len(SEEDS), help="how many")
    options.add_argument(
        "--heal", action="store_true", help="then run failing jobs again with their first remedy"
    )
    options.add_argument("--report", action="store_true", help="train nothing: diagnose what is stored")
    options.add_argument("--docs", type=Path, metavar="PAGE", help="write its measured tables")
    arguments = options.parse_args()
    if not arguments.report:
        data.write_all(DATA)
        runs = queue(SEEDS[: arguments.seeds])
        if arguments.only:
            runs = [run for run in runs if run.name in arguments.only.split(",")]
        train(runs, arguments.jobs)
        construct()
        if arguments.heal:
            heal([run for run in runs if run.seed == SEEDS[0]], arguments.jobs)
    report(arguments.json, arguments.docs)


if __name__ == "__main__":
    main()
