"""Runs the jobs of `examples/` to their end, one at a time, and writes what they reached into their folders.

Each is trained as `reinforge train` does it. Its held-out reward before the first and after the last step, the
seconds from start to adapter, the commit, the day and the machine become `result.json` and the section "Measured" of
its README.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from common.measure import stamp, table

from reinforge.offline.examples import NAMES, find
from reinforge.offline.train import train
from reinforge.schemas.examples import ExampleResult
from reinforge.spec import JobSpec

HEADING = "## Measured\n"
PARTS = "/part/"


def evaluations(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    return [record for record in records if record["kind"] == "held_out"]


def measure(name: str, commit: str) -> ExampleResult:
    example = find(name)
    origin = stamp()
    with tempfile.TemporaryDirectory(prefix="rf-example-") as folder:
        out = Path(folder) / "out"
        start = time.monotonic()
        ended = train(example.spec, out)
        seconds = time.monotonic() - start
        if ended["outcome"] != "succeeded":
            raise SystemExit(f"{name}: {ended}")
        held_out = evaluations(out)
    first, last = held_out[0]["values"], held_out[-1]["values"]
    machine = origin["machine"]
    return ExampleResult(
        base=round(first["held_out/reward_mean"], 3),
        tuned=round(last["held_out/reward_mean"], 3),
        parts={
            key.partition(PARTS)[2]: [round(first[key], 3), round(last[key], 3)]
            for key in sorted(first)
            if PARTS in key and not key.endswith("std_error")
        },
        length=[round(first["held_out/length_mean"], 1), round(last["held_out/length_mean"], 1)],
        steps=held_out[-1]["step"],
        seconds=round(seconds),
        machine=f"{machine['cores']} cores of {machine['cpu']}, load {machine['load_before']} before the start",
        date=origin["date"],
        commit=commit,
    )


def section(result: ExampleResult, spec: JobSpec) -> str:
    rows = [("reward", result.base, result.tuned)]
    rows += [(name, *values) for name, values in result.parts.items()]
    lines = "".join(f"| {name} | {before:.2f} | {after:.2f} |\n" for name, before, after in rows)
    before, after = result.length
    evaluation = spec.evaluation
    samples = f"{evaluation.rows} held-out rows, {evaluation.samples_per_row} completions of each"
    return (
        f"{HEADING}\n{samples}, `{spec.model}` on the CPU:\n\n"
        f"| | base | after {result.steps} steps |\n|---|---:|---:|\n{lines}"
        f"| tokens per completion | {before:.0f} | {after:.0f} |\n\n"
        f"{result.seconds:.0f} s from start to adapter; {result.machine}. {result.date}, commit `{result.commit}`, by "
        "`make proof-examples`.\n"
    )


def write(name: str, result: ExampleResult) -> None:
    folder = find(name).folder
    (folder / "result.json").write_text(result.model_dump_json(indent=1) + "\n", encoding="utf-8")
    readme = folder / "README.md"
    text = readme.read_text(encoding="utf-8").partition(HEADING)[0]
    readme.write_text(text + section(result, find(name).spec), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=NAMES, help="examples (default: all)")
    arguments = parser.parse_args()
    rows = []
    commit = stamp()["commit"]  # before the files that this writes
    for name in arguments.names:
        result = measure(name, commit)
        write(name, result)
        rows.append((name, result.base, result.tuned, f"{result.seconds:.0f}"))
        print(f"{name}: {result.base} → {result.tuned} in {result.seconds:.0f} s", flush=True)
    table(("example", "base", "tuned", "seconds"), rows)


if __name__ == "__main__":
    main()
