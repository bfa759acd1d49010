"""Several ranks against one, on the CPU: difference of the adapter after 20 updates in float64, of a gradient in
float32, and memory, work and traffic of the ranks. Each rank is a process with one thread, over gloo. With `--sharded`
they divide the base model between them, and the memory of two ranks is compared on a random model of 230 MB.

    python benchmarks/ranks.py [--sharded] [--json OUT]
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from common.measure import parser, stamp, table, write
from torch import Tensor
from transformers import Qwen3Config, Qwen3ForCausalLM

from reinforge.algorithm.slots import Algorithm
from worker.machine.settings import use_loopback
from worker.policy.base import Batch, Policy, Sequences
from worker.policy.host import LocalHost
from worker.policy.load import load_base_model
from worker.policy.lora import LoraPolicy, base_bytes, held_base_bytes
from worker.policy.ranks.group import RankGroup
from worker.policy.ranks.ranked import RankedPolicy, Ranks
from worker.policy.ranks.server import RankServer
from worker.policy.ranks.shares import part_of
from worker.policy.sharded import is_sharded
from worker.trainer.ranks import file_store
from worker.training.update import PolicyLoss

STARTER = Path(__file__).resolve().parents[1] / "worker" / "starter" / "starter-arith"
ROWS, GROUP, PROMPT, LONGEST, UPDATES = 64, 8, 12, 56, 20
STEP = {"learning_rate": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01, "clip_norm": 1.0}


def make(folder: Path, dtype: str, *, sharded: bool = False) -> LoraPolicy:
    base = load_base_model(folder, device=torch.device("cpu"), sharded=sharded)
    base.model.to(getattr(torch, dtype))
    if dtype == "float64":
        keep_precision(base.model)
    return LocalHost(base).create_policy("policy", rank=16, alpha=32, targets="all-linear", seed=0)


def keep_precision(model: torch.nn.Module) -> None:
    """Norms in the model's precision: transformers computes them in float32, which turns a difference of 1e-13 into one
    of 1e-8 wherever it rounds the other way.
    """
    for module in model.modules():
        if type(module).__name__.endswith("RMSNorm"):
            vars(module)["forward"] = partial(rms_norm, module)


def rms_norm(module: Any, x: Tensor) -> Tensor:
    return torch.nn.functional.rms_norm(x, (x.shape[-1],), module.weight, module.variance_epsilon)


def batch(update: int, vocabulary: int) -> Batch:
    """Groups of completions of different lengths, with an advantage each."""
    chance = torch.Generator().manual_seed(update)
    prompts = torch.randint(2, vocabulary, (ROWS // GROUP, PROMPT), generator=chance).tolist()
    lengths = torch.randint(4, LONGEST + 1, (ROWS,), generator=chance)
    completions = [torch.randint(2, vocabulary, (int(n),), generator=chance).tolist() for n in lengths]
    sequences = Sequences([prompts[row // GROUP] for row in range(ROWS)], completions, 1.0)
    mask = torch.arange(sequences.longest)[None, :] < lengths[:, None]
    tensors = {
        "mask": mask,
        "advantages": torch.randn(ROWS, generator=chance),
        "token_weights": mask / lengths[:, None],
        "counts": torch.ones(ROWS),
    }
    return Batch(sequences, tensors, torch.ones(ROWS, dtype=torch.bool), float(ROWS))


def train(policy: Policy, trained: LoraPolicy, updates: int) -> tuple[Tensor, list[dict[str, Any]], float]:
    """The first gradient, the metrics of all updates, and seconds of an update after the first."""
    loss = PolicyLoss(Algorithm().loss.model_dump())
    vocabulary = trained._model.config.vocab_size
    first, series, times = torch.empty(0), [], []
    for update in range(updates):
        begun = time.perf_counter()
        ran = policy.forward_backward(batch(update, vocabulary), loss)
        if update == 0:
            first = trained.trained.flat_gradients().clone()
        norm = policy.optimizer_step(**STEP)  # type: ignore[arg-type]
        series.append({key: total / count for key, (total, count) in ran.metrics.items()} | {"norm": norm})
        times.append(time.perf_counter() - begun)
    return first, series, sum(times[1:]) / max(1, updates - 1)


@contextmanager
def ranks_of(
    size: int, folder: Path, dtype: str, *, sharded: bool = False
) -> Iterator[tuple[Ranks, list[int]]]:
    """The ranks, and process ids of those other than 0."""
    with tempfile.TemporaryDirectory() as temporary:
        store = Path(temporary) / "store"
        command = [sys.executable, __file__, "--store", str(store), "--size", str(size), "--dtype", dtype]
        command += ["--sharded"] if sharded else []
        processes = [
            subprocess.Popen([*command, "--model", str(folder), "--rank", str(rank)], env=os.environ)
            for rank in range(1, size)
        ]
        group = RankGroup(file_store(store, size), 0, size)
        try:
            yield Ranks(group), [process.pid for process in processes]
        finally:
            group.close()
            for process in processes:
                process.wait(30)


def compare(size: int, folder: Path, dtype: str, updates: int, *, sharded: bool = False) -> dict[str, Any]:
    one = make(folder, dtype)
    gradient, series, seconds = train(one, one, updates)
    with ranks_of(size, folder, dtype, sharded=sharded) as (ranks, _), gathered_bytes() as gathered:
        own = make(folder, dtype, sharded=sharded)
        ranked_gradient, ranked_series, ranked_seconds = train(RankedPolicy(own, ranks), own, updates)
        work = ranks.work
        counts = ranks.group.bytes_moved | gathered
        moved = {kind: round(count / updates) for kind, count in counts.items()}
    weights, ranked_weights = one.weights(), own.weights()
    return {
        "ranks": size,
        "sharded": sharded,
        "dtype": dtype,
        "updates": updates,
        "max_abs_diff": max(float((ranked_weights[key] - w).abs().max()) for key, w in weights.items()),
        "series_max_abs_diff": max(
            abs(value - after[key])
            for before, after in zip(series, ranked_series, strict=True)
            for key, value in before.items()
        ),
        "gradient_relative_diff": float((ranked_gradient - gradient).norm() / gradient.norm()),
        "memory_per_rank_mib": [round(rank.peak_bytes / 2**20) for rank in work],
        "tokens_per_rank": [rank.tokens for rank in work],
        "cpu_seconds_per_rank": [round(rank.seconds, 3) for rank in work],
        "bytes_moved_per_update": moved,
        "adapter_bytes": sum(tensor.nbytes for tensor in weights.values()),
        "seconds_per_update": {"one": round(seconds, 4), "ranks": round(ranked_seconds, 4)},
    }


@contextmanager
def gathered_bytes() -> Iterator[Counter[str]]:
    """Counts bytes of layers that this rank gets from the others."""
    count: Counter[str] = Counter()
    original = dist.all_gather_single

    def counted(output_tensor: Tensor, input_tensor: Tensor, *arguments: Any, **named: Any) -> Any:
        count["layers"] += output_tensor.nbytes - input_tensor.nbytes
        return original(output_tensor, input_tensor, *arguments, **named)

    dist.all_gather_single = counted
    try:
        yield count
    finally:
        dist.all_gather_single = original


def memory_of_both() -> list[dict[str, Any]]:
    """Memory of two ranks with a copy each, then with a half each; each pair in processes of its own, whose allocator
    gives what is freed back at once.
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = write_random(Path(temporary))
        command = [sys.executable, __file__, "--memory", "--model", str(folder)]
        allocator = dict(os.environ) | {"MALLOC_MMAP_THRESHOLD_": str(2**20)}
        both = [
            subprocess.run(
                [*command, *mode], check=True, stdout=subprocess.PIPE, text=True, env=allocator
            ).stdout
            for mode in ([], ["--sharded"])
        ]
    return [json.loads(output.splitlines()[-1]) for output in both]


def write_random(folder: Path) -> Path:
    sizes = {
        "hidden_size": 768,
        "intermediate_size": 3072,
        "num_attention_heads": 12,
        "num_key_value_heads": 12,
    }
    config = Qwen3Config(vocab_size=1024, num_hidden_layers=6, head_dim=64, tie_word_embeddings=True, **sizes)
    torch.manual_seed(0)
    Qwen3ForCausalLM(config).save_pretrained(folder)
    shutil.copy(STARTER / "tokenizer.json", folder)
    return folder


def memory(folder: Path, *, sharded: bool) -> dict[str, Any]:
    with (
        ranks_of(2, folder, "float32", sharded=sharded) as (ranks, others),
        peaks([os.getpid(), *others]) as peak,
    ):
        own = make(folder, "float32", sharded=sharded)
        policy = RankedPolicy(own, ranks)
        loss = PolicyLoss(Algorithm().loss.model_dump())
        rows = batch(0, 1000)
        few = part_of(rows, list(range(0, ROWS, 8)))
        for _ in range(2):
            policy.forward_backward(few, loss)
            policy.optimizer_step(**STEP)  # type: ignore[arg-type]
        pids = [os.getpid(), *others]
        return {
            "sharded": sharded,
            "base_mib": mib(base_bytes(own.base_model)),
            "held_base_mib": mib(held_base_bytes(own.base_model)),
            "undivided_mib": mib(sum(p.nbytes for p in frozen(own.base_model) if not is_sharded(p))),
            "pss_mib": [mib(1024 * kilobytes(pid, "smaps_rollup", "Pss:")) for pid in pids],
            "anonymous_mib": [mib(anonymous_bytes(pid)) for pid in pids],
            "peak_anonymous_mib": [mib(peak[pid]) for pid in pids],
        }


@contextmanager
def peaks(pids: list[int]) -> Iterator[dict[int, int]]:
    """Largest anonymous memory of each process, looked at every few milliseconds."""
    most, done = dict.fromkeys(pids, 0), threading.Event()

    def watch() -> None:
        while not done.wait(0.003):
            for pid in pids:
                most[pid] = max(most[pid], anonymous_bytes(pid))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield most
    finally:
        done.set()
        thread.join()


def anonymous_bytes(pid: int) -> int:
    """Memory that is not a file's: without libraries and mapped weights."""
    return 1024 * kilobytes(pid, "status", "RssAnon:")


def frozen(model: torch.nn.Module) -> list[Tensor]:
    return [parameter for key, parameter in model.named_parameters() if "lora_" not in key]


def mib(count: int) -> float:
    return round(count / 2**20, 1)


def kilobytes(pid: int, name: str, field: str) -> int:
    lines = Path(f"/proc/{pid}/{name}").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def serve(arguments: argparse.Namespace) -> None:
    group = RankGroup(file_store(arguments.store, arguments.size), arguments.rank, arguments.size)
    RankServer(group, make(arguments.model, arguments.dtype, sharded=arguments.sharded)).run()


def main() -> None:
    options = parser("Several ranks against one, on the CPU.")
    options.add_argument("--model", type=Path, default=STARTER)
    options.add_argument("--sharded", action="store_true", help="divide the base model among two ranks")
    options.add_argument(
        "--json",
        type=Path,
        metavar="OUT",
        help="default: benchmarks/results/ranks.json or ranks_sharded.json",
    )
    options.add_argument("--sizes", type=int, nargs="+", default=[2, 3], help="numbers of ranks (2 3)")
    for name in ("--rank", "--size"):
        options.add_argument(name, type=int, help=argparse.SUPPRESS)
    options.add_argument("--store", type=Path, help=argparse.SUPPRESS)
    options.add_argument("--dtype", help=argparse.SUPPRESS)
    options.add_argument("--memory", action="store_true", help=argparse.SUPPRESS)
    arguments = options.parse_args()
    torch.set_num_threads(1)
    use_loopback()
    if arguments.rank:
        serve(arguments)
        return
    if arguments.memory:
        print(json.dumps(memory(arguments.model, sharded=arguments.sharded)))
        return
    updates = 3 if arguments.quick else UPDATES
    results = [
        compare(size, arguments.model, dtype, updates, sharded=arguments.sharded)
        for size in ([2] if arguments.sharded else arguments.sizes)
        for dtype in ("float64", "float32")
    ]
    table(
        ["ranks", "dtype", "max abs diff", "gradient", "MiB", "tokens", "CPU s"],
        [
            [
                str(r["ranks"]),
                r["dtype"],
                f"{r['max_abs_diff']:.1e}",
                f"{r['gradient_relative_diff']:.1e}",
                "/".join(map(str, r["memory_per_rank_mib"])),
                "/".join(map(str, r["tokens_per_rank"])),
                "/".join(map(str, r["cpu_seconds_per_rank"])),
            ]
            for r in results
        ],
    )
    result = stamp("torch", "transformers", "peft") | {"model": arguments.model.name, "results": results}
    if arguments.sharded:
        result |= {"memory": memory_of_both()}
    if arguments.json is None:
        write("ranks_sharded" if arguments.sharded else "ranks", result)
    else:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
