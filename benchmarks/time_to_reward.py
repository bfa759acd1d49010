"""Samples and seconds until nine of ten held-out additions are right: `reinforge train` beside TRL's GRPOTrainer.

    benchmarks/time_to_reward.py [--seeds 5] [--json OUT] [--quick]

The starter model, which gets half of them right, on the demo's rows with the demo's reward, 16 prompts × 8 completions
of at most 56 tokens; every two steps the 64 held-out rows are answered twice at temperature 1, and a run ends at its
second evaluation in a row of at least 0.9, or after 120 steps. Time is that of steps, evaluations left out.

* `same`: the same slots (DAPO's normaliser, no KL, one update per step), learning rate and batch on both sides. If both
  compute the same thing the samples agree: wanted are 0.8 to 1.2 of TRL's median.
* `default`: the demo's job as it is, beside TRL at the learning rate of 1e-4, 3e-4 and 1e-3 that is best for it.

Runs are done one at a time, the sides in turns, seed by seed; ours follow their own rules for threads, processes and
micro-batches, TRL has the fastest of a trial. It takes half an hour to two hours. Interrupted, it continues where it
stopped: runs are kept one per line in `results/time_to_reward`.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from common.learned import ACCURACY
from common.measure import RESULTS, ROOT, machine, parser, table, visible_devices, write
from common.preset_jobs import merge
from common.reaching import LEVEL, Reached, best, compared, reached, report_of
from common.runs import Run, StopRule, run_all
from common.trainers import fastest, run_trl

EXAMPLE = ROOT / "examples" / "arithmetic"
EVERY, SAMPLES, STEPS = 2, 2, 120
CHOICES = ((1, 1), (2, 4))
"""Threads and micro-batches that TRL may run with."""
RATES = (1e-4, 3e-4, 1e-3)
STOP = StopRule(at_least=LEVEL, in_a_row=2, metric=ACCURACY)
SAME = {"preset": "grpo", "loss": {"aggregation": {"type": "token_mean"}}}
TARGET_SAMPLES = (0.8, 1.2)
TARGET_SPEED = 0.8
"""Of the ratio of samples per second in case (a) of `trainer_vs_trl.py`."""


def job(steps: int, **changes: Any) -> dict[str, Any]:
    """The demo's, with evaluations as they are needed here."""
    made: dict[str, Any] = yaml.safe_load((EXAMPLE / "job.yaml").read_text(encoding="utf-8"))
    made["limits"] = {"steps": steps, "checkpoint_every": steps + 1}
    made["optimizer"] = {
        "learning_rate": 6e-4
    }  # the peer needs a number; published figures were measured with this
    made["evaluation"] = {"every_steps": EVERY, "rows": 64, "samples_per_row": SAMPLES, "pass_above": 0.5}
    made["data"] |= {"dataset": str(EXAMPLE / "additions.jsonl"), "held_out": str(EXAMPLE / "heldout.jsonl")}
    made["rewards"] = [{"type": "python", "name": "correct", "path": str(EXAMPLE / "reward.py")}]
    return merge(made, changes)


def peer_job(spec: dict[str, Any], seed: int, loss_type: str) -> dict[str, Any]:
    held_out = {"path": spec["data"]["held_out"], "every": EVERY, "samples": SAMPLES, "stop_at": LEVEL}
    return spec | {"seed": seed, "held_out": held_out, "loss_type": loss_type}


class Runs:
    """Runs of both sides, each done once."""

    def __init__(self, into: Path, choice: tuple[int, int]) -> None:
        self._into, self._choice = into, choice
        into.mkdir(parents=True, exist_ok=True)
        self._file = into / "trl.jsonl"
        text = self._file.read_text(encoding="utf-8") if self._file.exists() else ""
        self._have = {line["key"]: line["said"] for line in map(json.loads, text.splitlines())}

    def ours(self, arm: str, seed: int, spec: dict[str, Any]) -> Reached:
        run = Run(name=arm, seed=seed, spec=spec, stop=STOP, read=report_of)
        (result,) = run_all([run], self._into, jobs=1, retry=True, one_core=False)
        if not result.ok:
            raise RuntimeError(f"{arm} seed {seed}: {result.outcome}: {result.cause}")
        return reached(arm, seed, result.extra)

    def peers(self, arm: str, seed: int, spec: dict[str, Any], loss_type: str) -> Reached:
        settings = peer_job(spec, seed, loss_type)
        key = json.dumps([settings, self._choice], sort_keys=True).replace(str(ROOT), "")
        if key not in self._have:
            self._have[key] = run_trl(settings, "cpu", self._choice)
            with self._file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps({"key": key, "said": self._have[key]}) + "\n")
        return reached(arm, seed, self._have[key])


def same_slots(runs: Runs, seeds: Sequence[int], steps: int) -> tuple[list[Reached], list[Reached]]:
    spec = job(steps, algorithm=SAME)
    pairs = [(runs.ours("same", seed, spec), runs.peers("same", seed, spec, "dapo")) for seed in seeds]
    return [own for own, _ in pairs], [other for _, other in pairs]


def defaults(
    runs: Runs, seeds: Sequence[int], steps: int, rates: Sequence[float]
) -> tuple[list[Reached], dict[str, list[Reached]]]:
    spec, own = job(steps), list[Reached]()
    arms: dict[str, list[Reached]] = {f"{rate:.0e}": [] for rate in rates}
    for seed in seeds:
        own.append(runs.ours("default", seed, spec))
        for name, rate in zip(arms, rates, strict=True):
            there = job(steps, optimizer={"learning_rate": rate})
            arms[name].append(runs.peers(name, seed, there, "dapo"))
    return own, arms


def ratio_of_speed() -> float | None:
    """Of case (a), where `trainer_vs_trl.py` has been run here."""
    path = RESULTS / "trainer_vs_trl.json"
    cases = json.loads(path.read_text(encoding="utf-8"))["cases"] if path.exists() else []
    return next((case["ratio"] for case in cases if case["case"] == "a"), None)


def measure(into: Path, seeds: Sequence[int], *, quick: bool) -> dict[str, Any]:
    steps, rates = (4, RATES[-1:]) if quick else (STEPS, RATES)
    trial = job(4, algorithm=SAME) | {"evaluation": {"rows": 0}}
    choice = CHOICES[0] if quick else fastest(trial, "cpu", CHOICES)
    runs = Runs(into, choice)
    own, other = same_slots(runs, seeds, steps)
    default, arms = defaults(runs, seeds, steps, rates)
    rollout = job(steps)["rollout"]
    batch = rollout["prompts_per_step"] * rollout["completions_per_prompt"]
    rate, speed = best(arms), ratio_of_speed()
    return {
        "level": LEVEL,
        "peer_threads": choice[0],
        "peer_micro_batches": choice[1],
        "same": compared(own, other, batch)
        | {"wanted_samples": TARGET_SAMPLES, "wanted_speed": speed and TARGET_SPEED * speed},
        "default": compared(default, arms[rate], batch)
        | {"peer_rate": rate, "peer_rates": {name: compared(default, arm, batch) for name, arm in arms.items()}},
        "runs": {
            "reinforge": [run.as_dict(batch) for run in (*own, *default)],
            "trl": [run.as_dict(batch) for run in (*other, *(run for arm in arms.values() for run in arm))],
        },
    }  # fmt: skip


def show(results: dict[str, Any]) -> None:
    head = ("", "reinforge, samples", "TRL, samples", "ratio", "reinforge, s", "TRL, s", "TRL ÷ reinforge")
    rows = [(f"default, TRL at {rate}", side) for rate, side in results["default"]["peer_rates"].items()]
    table(
        head,
        [
            (name, _text(side["ours_samples"]), _text(side["peer_samples"]), _number(side["samples_ratio"]),
             _text(side["ours_seconds"]), _text(side["peer_seconds"]), _number(side["speed_ratio"]))
            for name, side in (("same", results["same"]), *rows)
        ],
    )  # fmt: skip
    low, high = TARGET_SAMPLES
    speed = results["same"]["wanted_speed"]
    print(
        f"\nmedian (least to most). Wanted of `same`: {low} to {high} of TRL's samples, "
        f"{'0.8 of the ratio of (a), not measured here' if speed is None else f'{speed:.2f}'} times its speed"
    )


def _text(values: Sequence[float | None]) -> str:
    middle, low, high = ("–" if value is None else f"{value:.0f}" for value in values)
    return f"{middle} ({low} to {high})"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument("--seeds", type=int, default=5, help="how many")
    options.add_argument("--json", type=Path, metavar="OUT", help="also write the result there")
    arguments = options.parse_args()
    name = "time_to_reward-quick" if arguments.quick else "time_to_reward"
    about = machine("reinforge", "trl", "torch", "transformers", "peft")
    os.environ["CUDA_VISIBLE_DEVICES"] = visible_devices("cpu")
    results = measure(RESULTS / name, range(1 if arguments.quick else arguments.seeds), quick=arguments.quick)
    show(results)
    result = {"machine": about, **results}
    write(name, result, depth=3)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
