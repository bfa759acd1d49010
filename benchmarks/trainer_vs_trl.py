"""Samples per second of LoRA GRPO: `reinforge train` beside TRL's GRPOTrainer, in turns, each run a process of its own.

    benchmarks/trainer_vs_trl.py [--case a|b|c] [--ahead] [--json OUT] [--quick]
    benchmarks/trainer_vs_trl.py --device cuda [--case 0.5b|1.5b] [--json OUT] [--quick]

(a) the demo's job: the starter model, 16 prompts × 8 completions of at most 56 tokens, its dataset and its reward;
(b) a random Qwen3 of 42 million parameters, prompts of 512 tokens, completions of 128, 4 × 8, random rewards;
(c) the same, prompts of 64 tokens and completions of 512. On a GPU: random models with the shapes of Qwen2.5 0.5B and
1.5B in bf16, prompts and completions of 1,024 tokens, 4 × 8. No completion but those of (a) ends by itself.

Float32 on the CPU, two threads in (b) and (c), no KL, one update per step, the DAPO normaliser, no gradient
checkpointing, no dropout, the same learning rate on both sides. TRL samples with transformers and runs with the fastest
of the threads and micro-batches below, found in a trial (`--quick`: with the one in the middle, and one short pair);
Reinforge follows its own rules, in (a) for threads too. Samples per second: completions sampled, scored and trained on
or skipped, over the wall time after the first step. Memory: the most that the process held, with what copies of it
that sample do not share, above what it held once the model was loaded; on a GPU of its memory. Share of the peak: what
forward and backward have to multiply for the completions and for each prompt once, over the time of the update and what
square matrices reach on the same device, in the same go.

With `--ahead` each round has a third run: ours, which samples one step ahead (`rollout.ahead`); TRL has no such mode
in one process.

Not the same: Reinforge scores in its sandbox, in processes of its own, and writes every completion with its
log-probabilities to disk; TRL calls the reward in its own process and writes nothing. On a GPU both hold adapters in
float32, which TRL multiplies in bf16 and Reinforge as they are.
"""

import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from common.matrix import peak, update_flops
from common.measure import ROOT, alternate, median, parser, stamp, table, write
from common.random_model import HALF_B, ONE_AND_A_HALF_B, Shape, make, prompts
from common.trainers import Run, fastest, reinforge, trl

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
    target: float | None
    choices: tuple[tuple[int, int], ...]
    """Threads and micro-batches that TRL may run with."""
    threads: int | None = None
    """Of ours; None: its own rule."""
    target_memory: float | None = None
    completions_per_prompt: int = 8
    shape: Shape = Shape()  # noqa: RUF009 - frozen
    device: str = "cpu"


BIG = ((2, 1), (2, 4), (2, 8))
GPU = ((8, 1), (8, 2), (8, 4), (8, 8), (8, 16))


def _on_a_gpu(model: str, shape: Shape) -> Case:
    about = f"{model}'s shape, bf16, prompts 1,024, completions 1,024, 4 × 8"
    return Case(about, 1024, 1024, 4, 4, 3, None, GPU, shape=shape, device="cuda")


CASES = {
    "a": Case("starter model, 16 × 8, 56 tokens", None, 56, 16, 60, 5, 2.0, ((1, 1), (2, 4))),
    "b": Case("42 M, prompts 512, completions 128, 4 × 8", 512, 128, 4, 4, 3, 2.0, BIG, 2, target_memory=0.6),
    "c": Case("42 M, prompts 64, completions 512, 4 × 8", 64, 512, 4, 4, 3, 1.3, BIG, 2),
    "0.5b": _on_a_gpu("Qwen2.5-0.5B", HALF_B),
    "1.5b": _on_a_gpu("Qwen2.5-1.5B", ONE_AND_A_HALF_B),
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
            make(model, case.shape)
        lines = [
            json.dumps({"messages": [{"role": "user", "content": text}], "answer": "0"})
            for text in prompts(64, case.prompt_tokens)
        ]
        rows.write_text("\n".join(lines), encoding="utf-8")
        made |= {"model": str(model), "data": {"dataset": str(rows)}}
        reward = RANDOM_REWARD
    made["rewards"] = [{"type": "python", "name": "reward", "path": str(reward)}]
    return made


def measure(case: Case, *, quick: bool, ahead: bool = False) -> dict[str, Any]:
    device = case.device
    with tempfile.TemporaryDirectory() as folder:
        job = settings(case, Path(folder), min(case.steps, 6) if quick else case.steps)
        choice = case.choices[len(case.choices) // 2] if quick else fastest(job, device, case.choices)
        job_ahead = job | {"rollout": job["rollout"] | {"ahead": 1}}
        ahead_runs: list[Run] = []

        def our_runs() -> Run:
            if ahead:
                ahead_runs.append(reinforge(job_ahead, case.threads, device))
            return reinforge(job, case.threads, device)

        pairs = alternate(1 if quick else case.rounds, our_runs, lambda: trl(job, device, choice))
    ours, peers = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    result = {
        "about": case.about,
        "ratio": median([our.samples_per_s / peer.samples_per_s for our, peer in pairs]),
        "ours_samples_per_s": median([run.samples_per_s for run in ours]),
        "peer_samples_per_s": median([run.samples_per_s for run in peers]),
        "memory_ratio": median([our.memory_mib for our in ours]) / median([run.memory_mib for run in peers]),
        "wanted": case.target,
        "wanted_memory": case.target_memory,
        "peer_threads": choice[0],
        "peer_micro_batches": choice[1],
        "runs": {"reinforge": [asdict(run) for run in ours], "trl": [asdict(run) for run in peers]},
    }
    if ahead:
        result |= ahead_result(ahead_runs, ours, peers)
    return result | matrix_share(case, [median(run.update_seconds) for run in ours])


def ahead_result(ahead: Sequence[Run], ours: Sequence[Run], peers: Sequence[Run]) -> dict[str, Any]:
    """Ratios of the runs that sampled ahead, each to the other runs of its round."""
    return {
        "ahead_samples_per_s": median([run.samples_per_s for run in ahead]),
        "ahead_ratio": median(
            [run.samples_per_s / peer.samples_per_s for run, peer in zip(ahead, peers, strict=True)]
        ),
        "ahead_gain": median(
            [run.samples_per_s / our.samples_per_s for run, our in zip(ahead, ours, strict=True)]
        ),
        "ahead_runs": [asdict(run) for run in ahead],
    }


def matrix_share(case: Case, update_seconds: Sequence[float]) -> dict[str, float]:
    """Of what the device multiplies per second, how much forward and backward use; nothing for the demo's model, whose
    sequences end when they like."""
    if case.prompt_tokens is None:
        return {}
    flops = case.prompts_per_step * update_flops(
        case.shape, case.prompt_tokens, case.completion_tokens, case.completions_per_prompt
    )
    most = peak(case.device, case.threads)
    share = flops / median(update_seconds) / most
    return {"update_flops": flops, "peak_flops_per_s": most, "matrix_share": share}


def chosen(case: str, device: str) -> list[str]:
    """The cases to measure. Raises ValueError where they cannot be measured on that device."""
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("torch sees no CUDA device here")
    names = [name for name, value in CASES.items() if value.device == device and case in (name, "all")]
    if not names:
        raise ValueError(f"case {case} is one of --device {CASES[case].device}")
    return names


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument("--case", choices=(*CASES, "all"), default="all")
    options.add_argument("--ahead", action="store_true", help="also measure with rollout.ahead")
    options.add_argument("--json", type=Path, metavar="OUT", help="also write the result there")
    options.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    arguments = options.parse_args()
    try:
        names = chosen(arguments.case, arguments.device)
    except ValueError as error:
        options.error(str(error))
    origin = stamp("reinforge", "trl", "torch", "transformers", "peft")
    if arguments.device == "cuda":
        origin["machine"]["gpu"] = torch.cuda.get_device_name()
    cases = [
        {"case": name, **measure(CASES[name], quick=arguments.quick, ahead=arguments.ahead)} for name in names
    ]
    table(
        (
            "case",
            "reinforge, samples/s",
            "TRL, samples/s",
            "ratio",
            "wanted",
            "memory ratio",
            "wanted",
            "share of the peak",
            "ahead, samples/s",
            "ratio",
        ),
        [
            (
                f"{case['case']}: {case['about']}",
                case["ours_samples_per_s"],
                case["peer_samples_per_s"],
                case["ratio"],
                case["wanted"] or "",
                case["memory_ratio"],
                case["wanted_memory"] or "",
                case.get("matrix_share", ""),
                case.get("ahead_samples_per_s", ""),
                case.get("ahead_ratio", ""),
            )
            for case in cases
        ],
    )
    result = {**origin, "device": arguments.device, "cases": cases}
    write("trainer_vs_trl", result, depth=4)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
