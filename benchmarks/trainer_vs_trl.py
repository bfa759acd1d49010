"""Samples per second of LoRA GRPO: `reinforge train` beside TRL's GRPOTrainer, in turns, each run a process of its own.

    benchmarks/trainer_vs_trl.py [--case a|b|c] [--json OUT] [--device cpu] [--quick]

(a) the demo's job: the starter model, 16 prompts × 8 completions of at most 56 tokens, its dataset and its reward;
(b) a random Qwen3 of 42 million parameters, prompts of 512 tokens, completions of 128, 4 × 8, random rewards;
(c) the same, prompts of 64 tokens and completions of 512. No completion of (b) and (c) ends by itself.

Float32, two threads in (b) and (c), no KL, one update per step, the DAPO normaliser, no gradient checkpointing, no
dropout, the same learning rate on both sides. TRL samples with transformers and runs with the fastest of the threads
and micro-batches below, found in a trial; Reinforge follows its own rules, in (a) for threads too. Samples per second:
completions sampled, scored and trained on or set aside, over the wall time after the first step. Memory: the most that
the process held, above what it held once the model was loaded. Not the same: Reinforge scores in its sandbox, in
processes of its own, and writes every completion with its log-probabilities to disk; TRL calls the reward in its own
process and writes nothing.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from common.measure import ROOT, alternate, machine, median, parser, table, write
from common.random_model import make, prompts

from reinforge.offline import model_folder

EXAMPLE = ROOT / "examples" / "arithmetic"
RANDOM_REWARD = ROOT / "benchmarks" / "common" / "random_reward.py"
TRIAL_SECONDS = 240


@dataclass(frozen=True, slots=True)
class Case:
    about: str
    prompt_tokens: int | None
    """None: the demo's."""
    completion_tokens: int
    prompts_per_step: int
    steps: int
    rounds: int
    wanted: float
    choices: tuple[tuple[int, int], ...]
    """Threads and micro-batches that TRL may run with."""
    threads: int | None = None
    """Of ours; None: its own rule."""
    wanted_memory: float | None = None
    completions_per_prompt: int = 8


BIG = ((2, 1), (2, 4), (2, 8))
CASES = {
    "a": Case("starter model, 16 × 8, 56 tokens", None, 56, 16, 60, 5, 2.0, ((1, 1), (2, 4))),
    "b": Case("42 M, prompts 512, completions 128, 4 × 8", 512, 128, 4, 4, 3, 2.0, BIG, 2, 0.6),
    "c": Case("42 M, prompts 64, completions 512, 4 × 8", 64, 512, 4, 4, 3, 1.3, BIG, 2),
}


@dataclass(frozen=True, slots=True)
class Run:
    seconds: list[float]
    """Of each step after the first."""
    samples_per_s: float
    memory_mib: float
    """The most held, above what was held once the model was loaded."""
    rewards: list[float]


def settings(case: Case, folder: Path, steps: int) -> dict[str, Any]:
    """The job file of a case; its model and rows are made in `folder`."""
    made: dict[str, Any] = {
        "algorithm": {"preset": "grpo", "loss": {"aggregation": {"type": "token_mean"}}},
        "rollout": {
            "prompts_per_step": case.prompts_per_step,
            "completions_per_prompt": case.completions_per_prompt,
            "max_completion_tokens": case.completion_tokens,
        },
        "adapter": {"rank": 16},
        "optimizer": {"learning_rate": 6.0e-4},
        "limits": {"steps": steps, "checkpoint_every": steps + 1},
        "evaluation": {"rows": 0},
    }
    if case.prompt_tokens is None:
        made |= {"model": "starter-arith", "data": {"dataset": str(EXAMPLE / "additions.jsonl")}}
        reward = EXAMPLE / "reward.py"
    else:
        model, rows = folder / "model", folder / "rows.jsonl"
        if not model.exists():
            make(model)
        lines = [
            json.dumps({"messages": [{"role": "user", "content": text}], "answer": "0"})
            for text in prompts(64, case.prompt_tokens)
        ]
        rows.write_text("\n".join(lines), encoding="utf-8")
        made |= {"model": str(model), "data": {"dataset": str(rows)}}
        reward = RANDOM_REWARD
    made["rewards"] = [{"type": "python", "name": "reward", "path": str(reward)}]
    return made


def reinforge(job: dict[str, Any], threads: int | None) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "job.json", Path(folder) / "run"
        file.write_text(json.dumps(job), encoding="utf-8")
        command = ["-m", "reinforge.cli.main", "train", str(file), "--out", str(out), "--quiet"]
        held = _watched(command, str(out), **({"OMP_NUM_THREADS": str(threads)} if threads else {}))
        lines = (out / "records.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    steps = [record for record in records if record["kind"] == "step_metrics"]
    loaded_at = next(r["ts"] for r in records if r["kind"] == "phase" and r["phase"] == "generating")
    ends = [step["ts"] for step in steps]
    rewards = [step["values"]["reward/mean"] for step in steps]
    memory = max(mib for _, mib in held) - [mib for at, mib in held if at <= loaded_at][-1]
    return _run(job, ends, memory, rewards)


def trl(job: dict[str, Any], device: str, choice: tuple[int, int], seconds: float | None = None) -> Run:
    """Raises subprocess.TimeoutExpired after `seconds`."""
    threads, micro_batches = choice
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "settings.json", Path(folder) / "out.json"
        asked = job | {"micro_batches": micro_batches, "device": device, "loss_type": "dapo"}
        file.write_text(json.dumps(asked), encoding="utf-8")
        command = [
            str(ROOT / "benchmarks" / "peers" / "trl_grpo.py"),
            "--model", str(model_folder(job["model"])), "--settings", str(file), "--out", str(out),
            "--dataset", job["data"]["dataset"], "--reward", job["rewards"][0]["path"],
        ]  # fmt: skip
        _finish(_start(command, OMP_NUM_THREADS=str(threads)), seconds)
        found = json.loads(out.read_text(encoding="utf-8"))
    return _run(job, found["ends"], found["peak_mib"] - found["loaded_mib"], found["rewards"])


def fastest(case: Case, job: dict[str, Any], device: str) -> tuple[int, int]:
    """The threads and micro-batches that TRL runs fastest with."""
    short, rates = job | {"limits": {"steps": 3, "checkpoint_every": 4}}, dict[tuple[int, int], float]()
    for choice in case.choices:
        try:
            rates[choice] = trl(short, device, choice, TRIAL_SECONDS).samples_per_s
        except subprocess.TimeoutExpired:
            continue
    return max(rates, key=lambda choice: rates[choice])


def measure(case: Case, device: str, *, quick: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        job = settings(case, Path(folder), min(case.steps, 6) if quick else case.steps)
        choice = case.choices[-1] if quick else fastest(case, job, device)
        pairs = alternate(
            1 if quick else case.rounds,
            lambda: reinforge(job, case.threads),
            lambda: trl(job, device, choice),
        )
    ours, peers = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return {
        "about": case.about,
        "ratio": median([our.samples_per_s / peer.samples_per_s for our, peer in pairs]),
        "ours_samples_per_s": median([run.samples_per_s for run in ours]),
        "peer_samples_per_s": median([run.samples_per_s for run in peers]),
        "memory_ratio": median([our.memory_mib for our in ours]) / median([run.memory_mib for run in peers]),
        "wanted": case.wanted,
        "wanted_memory": case.wanted_memory,
        "peer_threads": choice[0],
        "peer_micro_batches": choice[1],
        "runs": {"reinforge": [asdict(run) for run in ours], "trl": [asdict(run) for run in peers]},
    }


def _run(job: dict[str, Any], ends: Sequence[float], memory: float, rewards: list[float]) -> Run:
    rollout = job["rollout"]
    samples = (len(ends) - 1) * rollout["prompts_per_step"] * rollout["completions_per_prompt"]
    seconds = [after - before for before, after in pairwise(ends)]
    return Run(seconds, samples / (ends[-1] - ends[0]), memory, rewards)


def _start(arguments: Sequence[str], **variables: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, *arguments],
        env=os.environ | {"HF_HUB_OFFLINE": "1"} | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _finish(process: "subprocess.Popen[str]", seconds: float | None = None) -> None:
    """Wait; what it said is shown only when it failed."""
    try:
        said, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    if process.returncode:
        sys.exit(f"{process.args} ended with {process.returncode}:\n{said[-4000:]}")


def _watched(arguments: Sequence[str], marked: str, **variables: str) -> list[tuple[float, float]]:
    """(time, MiB) of the trainer process whose command line has `marked`, every 20 ms while it runs."""
    process, held, trainer = _start(arguments, **variables), list[tuple[float, float]](), None
    while process.poll() is None:
        trainer = trainer or _trainer(marked)
        if trainer is not None:
            try:
                pages = int((trainer / "statm").read_text().split()[1])
                held.append((time.time(), pages * os.sysconf("SC_PAGE_SIZE") / 2**20))
            except (OSError, IndexError):
                trainer = None
        time.sleep(0.02)
    _finish(process)
    return held


def _trainer(marked: str) -> Path | None:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"worker.main" in words and marked.encode() in words:
            return folder
    return None


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument("--case", choices=(*CASES, "all"), default="all")
    options.add_argument("--json", type=Path, metavar="OUT", help="also write the result there")
    options.add_argument("--device", default="cpu")
    given = options.parse_args()
    about = machine("reinforge", "trl", "torch", "transformers", "peft")
    chosen = list(CASES) if given.case == "all" else [given.case]
    cases = [{"case": name, **measure(CASES[name], given.device, quick=given.quick)} for name in chosen]
    table(
        ("case", "reinforge, samples/s", "TRL, samples/s", "ratio", "wanted", "memory ratio", "wanted"),
        [
            (
                f"{case['case']}: {case['about']}",
                case["ours_samples_per_s"],
                case["peer_samples_per_s"],
                case["ratio"],
                case["wanted"],
                case["memory_ratio"],
                case["wanted_memory"] or "",
            )
            for case in cases
        ],
    )
    result = {"machine": about, "device": given.device, "cases": cases}
    write("trainer_vs_trl", result, depth=4)
    if given.json is not None:
        given.json.write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
