"""Samples per second of LoRA GRPO: `reinforge train` beside TRL's GRPOTrainer, in turns, each run a process of its own.

    benchmarks/trainer_vs_trl.py [--case a|b|c] [--json OUT] [--device cpu] [--quick]

(a) the demo's job: the starter model, 16 prompts × 8 completions of at most 56 tokens, its dataset and its reward;
(b) a random Qwen3 of 42 million parameters, prompts of 512 tokens, completions of 128, 4 × 8, random rewards;
(c) the same, prompts of 64 tokens and completions of 512. No completion of (b) and (c) ends by itself.

Float32, two threads in (b) and (c), no KL, one update per step, the DAPO normaliser, no gradient checkpointing, no
dropout, the same learning rate on both sides. TRL samples with transformers and runs with the fastest of the threads
and micro-batches below, found in a trial; Reinforge follows its own rules, in (a) for threads too. Samples per second:
completions sampled, scored and trained on or set aside, over the wall time after the first step. Memory: the most that
the process held, with what copies of it that sample do not share, above what it held once the model was loaded. Not the
same: Reinforge scores in its sandbox, in processes of its own, and writes every completion with its log-probabilities
to disk; TRL calls the reward in its own process and writes nothing.
"""

import json
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from common.measure import ROOT, alternate, machine, median, parser, table, write
from common.random_model import make, prompts
from common.trainers import fastest, reinforge, trl

EXAMPLE = ROOT / "examples" / "arithmetic"
RANDOM_REWARD = ROOT / "benchmarks" / "common" / "random_reward.py"


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
    "b": Case("42 M, prompts 512, completions 128, 4 × 8", 512, 128, 4, 4, 3, 2.0, BIG, 2, wanted_memory=0.6),
    "c": Case("42 M, prompts 64, completions 512, 4 × 8", 64, 512, 4, 4, 3, 1.3, BIG, 2),
}


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


def measure(case: Case, device: str, *, quick: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        job = settings(case, Path(folder), min(case.steps, 6) if quick else case.steps)
        choice = case.choices[-1] if quick else fastest(job, device, case.choices)
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
