"""Time of one GRPO step: `reinforge train` beside TRL's GRPOTrainer, same model, rows, reward and settings.

The demo's job (`examples/arithmetic/job.yaml`) on the CPU: 16 prompts × 8 completions of at most 56 tokens, LoRA on
all linear layers. A step is the time from the end of one step to the end of the next, whatever happens in between;
the first steps of each run are left out. Not the same on both sides: Reinforge scores in its sandbox and writes
every completion with its log-probabilities to disk, TRL calls the reward in its own process and writes nothing.
"""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml
from common.measure import ROOT, alternate, machine, median, parser, table, visible_devices, write

from reinforge.offline.train import model_folder

EXAMPLE = ROOT / "examples" / "arithmetic"
WARM_UP = 2
TRL_CHOICES = ((1, 1), (len(os.sched_getaffinity(0)), 4))
"""Threads and micro-batches that TRL may run with: the fastest in a short trial on this machine. Reinforge follows
its own rules for both, which nobody set by hand."""
TRIAL_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Run:
    """One run; every list has one number per step, `seconds` one less."""

    seconds: list[float]
    sample_seconds: list[float]
    """Generating and scoring."""
    rewards: list[float]
    lengths: list[float]
    """Mean tokens per completion."""

    @property
    def step(self) -> float:
        return median(self.seconds[WARM_UP - 1 :])

    @property
    def sample(self) -> float:
        return median(self.sample_seconds[WARM_UP:])


def job(steps: int) -> dict[str, Any]:
    """The demo's job, `steps` long, without evaluation."""
    made: dict[str, Any] = yaml.safe_load((EXAMPLE / "job.yaml").read_text(encoding="utf-8"))
    made["limits"] = {"steps": steps, "checkpoint_every": steps + 1}
    made["optimizer"] = {
        "learning_rate": 6e-4
    }  # the peer needs a number; published figures were measured with this
    made["evaluation"] = {"rows": 0}
    made["data"] = {"dataset": str(EXAMPLE / "additions.jsonl"), "held_out": str(EXAMPLE / "heldout.jsonl")}
    made["rewards"] = [{"type": "python", "name": "correct", "path": str(EXAMPLE / "reward.py")}]
    return made


def reinforge(settings: dict[str, Any]) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "job.json", Path(folder) / "run"
        file.write_text(json.dumps(settings), encoding="utf-8")
        _run(["-m", "reinforge.cli.main", "train", str(file), "--out", str(out), "--quiet"])
        records = [
            json.loads(line) for line in (out / "records.jsonl").read_text(encoding="utf-8").splitlines()
        ]
        steps = [record for record in records if record["kind"] == "step_metrics"]
        values = [step["values"] for step in steps]
    return Run(
        seconds=[after["ts"] - before["ts"] for before, after in pairwise(steps)],
        sample_seconds=[step["time/step"] - step["time/update"] for step in values],
        rewards=[step["reward/mean"] for step in values],
        lengths=[step["completions/length_mean"] for step in values],
    )


def trl(settings: dict[str, Any], choice: tuple[int, int], seconds: float | None = None) -> Run:
    """Raises subprocess.TimeoutExpired after `seconds`."""
    threads, micro_batches = choice
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "settings.json", Path(folder) / "out.json"
        file.write_text(json.dumps(settings | {"micro_batches": micro_batches}), encoding="utf-8")
        command = [str(ROOT / "benchmarks" / "peers" / "trl_grpo.py")]
        command += [
            "--model",
            str(model_folder(settings["model"])),
            "--settings",
            str(file),
            "--out",
            str(out),
        ]
        command += ["--dataset", settings["data"]["dataset"], "--reward", settings["rewards"][0]["path"]]
        _run(command, seconds, OMP_NUM_THREADS=str(threads))
        report = json.loads(out.read_text(encoding="utf-8"))
    return Run(
        seconds=[after - before for before, after in pairwise(report["ends"])],
        sample_seconds=report["sample_seconds"],
        rewards=report["rewards"],
        lengths=report["lengths"],
    )


def best_choice() -> tuple[int, int]:
    """The fastest of `TRL_CHOICES`."""
    times: dict[tuple[int, int], float] = {}
    for choice in TRL_CHOICES:
        try:
            times[choice] = trl(job(4), choice, TRIAL_SECONDS).step
        except subprocess.TimeoutExpired:
            continue
    return min(times, key=lambda choice: times[choice]) if times else TRL_CHOICES[0]


def _run(arguments: list[str], seconds: float | None = None, **variables: str) -> None:
    """Run Python to its end; what it said is shown only when it failed."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | {"HF_HUB_OFFLINE": "1"} | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds,
    )
    if done.returncode:
        sys.exit(f"{arguments} ended with {done.returncode}:\n{done.stdout[-4000:]}")


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--steps", type=int, help="steps of each run, at least 4")
    options.add_argument("--pairs", type=int, help="runs of each side")
    arguments = options.parse_args()
    steps = arguments.steps or (5 if arguments.quick else 8)
    pairs = arguments.pairs or (1 if arguments.quick else 2)
    if steps <= WARM_UP + 1:
        options.error("--steps must be at least 4")
    os.environ["CUDA_VISIBLE_DEVICES"] = visible_devices("cpu")
    choice = TRL_CHOICES[0] if arguments.quick else best_choice()
    about = machine("reinforge", "trl", "torch", "transformers", "peft")
    settings = job(steps)
    runs = alternate(pairs, lambda: reinforge(settings), lambda: trl(settings, choice))
    ours, peers = [pair[0] for pair in runs], [pair[1] for pair in runs]
    ratios = [peer.step / our.step for our, peer in runs]

    print(f"One GRPO step: {pairs} runs of {steps} steps on each side, the first {WARM_UP} left out")
    print(f"TRL with {choice[0]} thread(s) and {choice[1]} micro-batch(es)\n")
    table(
        ("", "reinforge", "TRL", "TRL ÷ reinforge"),
        [
            _row("s per step", *(median([run.step for run in side]) for side in (ours, peers))),
            _row(
                "of it sampling and scoring",
                *(median([run.sample for run in side]) for side in (ours, peers)),
            ),
            ("tokens per completion", *(_last(side, "lengths") for side in (ours, peers)), ""),
            ("reward, first step", *(median([run.rewards[0] for run in side]) for side in (ours, peers)), ""),
            ("reward, last three steps", *(_last(side, "rewards") for side in (ours, peers)), ""),
        ],
    )
    print(
        f"\nRatio of each pair: {', '.join(f'{ratio:.2f}' for ratio in ratios)}; median {median(ratios):.2f}"
    )
    write(
        "step",
        {
            "machine": about,
            "settings": {"steps": steps, "pairs": pairs, "trl_threads": choice[0], "trl_micro_batches": choice[1]},
            "ratio": median(ratios),
            "ratios": ratios,
            "reinforge": [asdict(run) for run in ours],
            "trl": [asdict(run) for run in peers],
        },
    )  # fmt: skip


def _row(name: str, ours: float, peer: float) -> tuple[str, float, float, float]:
    return (name, ours, peer, peer / ours)


def _last(side: list[Run], key: str) -> float:
    """The mean of the last three steps, the median over the runs."""
    return median([sum(getattr(run, key)[-3:]) / 3 for run in side])


if __name__ == "__main__":
    main()
