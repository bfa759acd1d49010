"""A batch on one vLLM server against two that share its cores, on the CPU: seconds, and whether the tokens are equal.

python benchmarks/vllm_servers.py [--quick]
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from common.measure import median, parser, stamp, table, write
from transformers import AutoTokenizer

from worker.machine.vllm_python import vllm_python, vllm_version
from worker.policy.host import LocalHost
from worker.policy.load import load_base_model
from worker.rollout.engine import GenerateRequest, NoiseKey, RolloutEngine, Sampling
from worker.rollout.noise import Stream
from worker.rollout.vllm.adapters import Adapters
from worker.rollout.vllm.engine import VllmEngine
from worker.rollout.vllm.fleet import Fleet
from worker.rollout.vllm.member import FleetMember
from worker.rollout.vllm.options import Options
from worker.rollout.vllm.server import VllmServer

STARTER = Path(__file__).resolve().parents[1] / "worker" / "starter" / "starter-arith"
PROMPTS, COMPLETIONS, TOKENS, ROUNDS, RANK = 32, 8, 128, 5, 8

Tokens = dict[int, list[tuple[int, ...]]]


def engine(servers: int, folder: Path) -> RolloutEngine:
    """Servers that share the cores."""
    python = vllm_python()
    assert python is not None, "make vllm"
    policy = LocalHost(load_base_model(STARTER)).create_policy(
        "policy", rank=RANK, alpha=16, targets="all-linear", seed=0
    )
    threads = max(1, len(os.sched_getaffinity(0)) // servers)
    options = Options(STARTER, "float32", "cpu", max_model_len=256, rank=RANK, threads=threads)
    made = [VllmServer(python, options, folder / f"{servers}-{number}.log") for number in range(servers)]

    def export(_: str, target: Path) -> None:
        policy.export(target, base_model="starter-arith")

    if servers == 1:
        return VllmEngine(made[0], export)
    adapters = Adapters(made[0].adapters)
    members = [
        FleetMember(f"server {number + 1}", server, options.max_num_seqs, adapters)
        for number, server in enumerate(made)
    ]
    return Fleet(members, adapters, export, print)


def batch() -> list[GenerateRequest]:
    tokenizer = AutoTokenizer.from_pretrained(STARTER)
    return [
        GenerateRequest(
            "policy",
            0,
            tuple(tokenizer(f"{number + 10}+{number + 37}=")["input_ids"]),
            COMPLETIONS,
            Sampling(TOKENS, 1.0),
            NoiseKey(9, Stream.TRAIN, 1, number),
            number,
        )
        for number in range(PROMPTS)
    ]


async def sample(sampler: RolloutEngine, requests: Sequence[GenerateRequest]) -> tuple[float, Tokens]:
    began = time.monotonic()
    tokens = {
        answer.request.tag: [sample.token_ids for sample in answer.samples]
        async for answer in sampler.generate(requests)
    }
    return time.monotonic() - began, tokens


async def measure(rounds: int, folder: Path) -> dict[str, Any]:
    """Alternate between both; what is started is idle meanwhile."""
    samplers = {servers: engine(servers, folder) for servers in (1, 2)}
    starts, seconds, tokens = {}, dict[int, list[float]]({1: [], 2: []}), dict[int, Tokens]()
    try:
        for servers, sampler in samplers.items():
            began = time.monotonic()
            await sampler.publish("policy", 0)
            starts[servers] = round(time.monotonic() - began, 1)
            await sample(sampler, batch())
        for _ in range(rounds):
            for servers, sampler in samplers.items():
                took, tokens[servers] = await sample(sampler, batch())
                seconds[servers].append(round(took, 2))
    finally:
        for sampler in samplers.values():
            await sampler.close()
    equal = sum(tokens[1][tag] == tokens[2][tag] for tag in tokens[1])
    return {"start_seconds": starts, "seconds": seconds, "equal_prompts": equal, "prompts": PROMPTS}


def main() -> None:
    arguments = parser(__doc__ or "").parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        result = asyncio.run(measure(2 if arguments.quick else ROUNDS, Path(folder)))
    table(
        ["servers", "start s", "batch s, median", "least", "most"],
        [
            [str(n), result["start_seconds"][n], median(took), min(took), max(took)]
            for n, took in result["seconds"].items()
        ],
    )
    print(f"equal tokens: {result['equal_prompts']} of {PROMPTS} prompts")
    sizes = {"completions": COMPLETIONS, "tokens": TOKENS, "model": STARTER.name, "vllm": vllm_version()}
    write("vllm_servers", stamp("torch", "transformers") | sizes | result)


if __name__ == "__main__":
    main()
