"""Presets for jobs with tools against GRPO: the jobs of examples/ on starter-tools, three seeds, one at a time.

The rule, written before the first run: a preset is *better* than GRPO on an example if the 95 % interval of the
difference of held-out rewards after the last step, paired by prompt and averaged over seeds, lies above 0; *worse* if
it lies below 0; and *no difference* otherwise. The acceptance of a preset is a held-out reward of 0.85 on
calculator-agent. Only the preset differs between jobs: data, sampling, learning rate, steps and seeds are the same.

Runs that stand in the result are not repeated. `benchmarks/claims.py --page` writes them into the ledger,
docs/claims.md.
"""

import json
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from typing import Any

from claims.tool_presets import EXAMPLES, FILE, HEAD, PRESETS, rows, stored_runs
from common.measure import parser, stamp, table

from reinforge.offline.examples import find
from reinforge.offline.train import train
from reinforge.spec import JobSpec

SEEDS = (0, 1, 2)


def spec_of(example: str, preset: str, seed: int) -> JobSpec:
    raw = find(example).spec.model_dump(mode="json", exclude_unset=True)
    raw |= {"algorithm": {"preset": preset}, "seed": seed}
    return JobSpec.model_validate(raw)


def run(example: str, preset: str, seed: int) -> dict[str, Any]:
    """Held-out rewards of the base and at the end, by prompt, and series of the training."""
    spec = spec_of(example, preset, seed)
    with tempfile.TemporaryDirectory(prefix="rf-tools-") as folder:
        ended = train(spec, Path(folder) / "out")
        if ended["outcome"] != "succeeded":
            raise SystemExit(f"{example}, {preset}, seed {seed}: {ended}")
        lines = (Path(folder) / "out" / "records.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    held_out = {record["step"]: record["rows"] for record in records if record.get("split") == "held_out"}
    steps = [record["values"] for record in records if record["kind"] == "step_metrics"]
    return {
        "example": example, "preset": preset, "seed": seed, "steps": max(held_out),
        "base": by_prompt(held_out[min(held_out)]), "tuned": by_prompt(held_out[max(held_out)]),
        "calls": [round(values["tools/calls_per_rollout"], 3) for values in steps],
        "rewards": [round(values["reward/mean"], 3) for values in steps],
    } | stamp("torch")  # fmt: skip


def by_prompt(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Mean reward of each prompt; a completion without a reward counts as 0."""
    rewards: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        rewards[row["prompt_hash"]].append(row["reward"] or 0.0)
    return {prompt: round(fmean(values), 4) for prompt, values in rewards.items()}


def main() -> None:
    arguments = parser(__doc__.splitlines()[0])
    arguments.add_argument("--examples", nargs="*", default=EXAMPLES, choices=EXAMPLES)
    arguments.add_argument("--presets", nargs="*", default=PRESETS, choices=PRESETS)
    arguments.add_argument("--seeds", nargs="*", type=int, default=SEEDS)
    options = arguments.parse_args()
    runs = stored_runs()
    there = {(one["example"], one["preset"], one["seed"]) for one in runs}
    for seed in options.seeds[:1] if options.quick else options.seeds:
        for example in options.examples:
            for preset in options.presets:
                if (example, preset, seed) in there:
                    continue
                runs.append(run(example, preset, seed))
                FILE.write_text(json.dumps({"runs": runs}, indent=1) + "\n", encoding="utf-8")
                print(
                    f"{example}, {preset}, seed {seed}: {fmean(runs[-1]['tuned'].values()):.3f}", flush=True
                )
    table(HEAD, rows(runs))


if __name__ == "__main__":
    main()
