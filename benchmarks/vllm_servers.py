"""A batch on one vLLM server against two that share its cores, on the CPU: seconds, CPU seconds, and whether the tokens
are equal. Two threads of one server wait for each other, which costs much where other processes use the cores.

    python benchmarks/vllm_servers.py [--quick]
"""

import asyncio
import os
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil
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
PROMPTS, COMPLETIONS, TOKENS, ROUNDS, RANK = 32, 4, 48, 3, 8


@dataclass
class Measured:
    sampler: RolloutEngine
    servers: list[VllmServer]
    start_seconds: float = 0.0
    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    tokens: dict[int, list[tuple[int, ...]]] = field(default_factory=dict)

    async def start(self) -> None:
        began = time.monotonic()
        await self.sampler.publish("policy", 0)
        self.start_seconds = round(time.monotonic() - began, 1)
        await self.sample()

    async def sample(self) -> float:
        began = time.monotonic()
        self.tokens = {
            answer.request.tag: [sample.token_ids for sample in answer.samples]
            async for answer in self.sampler.generate(batch())
        }
        return round(time.monotonic() - began, 2)

    async def measure(self) -> None:
        before = self._cpu_seconds()
        self.seconds.append(await self.sample())
        self.cpu_seconds.append(round(self._cpu_seconds() - before, 2))

    def _cpu_seconds(self) -> float:
        supervisors = [psutil.Process(server.pid) for server in self.servers]
        times = [process.cpu_times() for one in supervisors for process in one.children(recursive=True)]
        return sum(time.user + time.system for time in times)


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


def servers_of(count: int, threads: int, folder: Path) -> Measured:
    python = vllm_python()
    assert python is not None, "make vllm"
    policy = LocalHost(load_base_model(STARTER)).create_policy(
        "policy", rank=RANK, alpha=16, targets="all-linear", seed=0
    )
    options = Options(STARTER, "float32", "cpu", max_model_len=256, rank=RANK, threads=threads)
    servers = [
        VllmServer(python, options, folder / f"{count}-{threads}-{number}.log") for number in range(count)
    ]

    def export(_: str, target: Path) -> None:
        policy.export(target, base_model="starter-arith")

    if count == 1:
        return Measured(VllmEngine(servers[0], export), servers)
    adapters = Adapters(servers[0].adapters)
    members = [
        FleetMember(f"server {number + 1}", server, options.max_num_seqs, adapters)
        for number, server in enumerate(servers)
    ]
    return Measured(Fleet(members, adapters, export, print), servers)


async def measure(rounds: int, folder: Path) -> dict[tuple[int, int], Measured]:
    """Take turns; what is started is idle meanwhile."""
    cores = len(os.sched_getaffinity(0))
    all_ways = ((1, 1), (1, cores), (2, max(1, cores // 2)))
    ways = {way: servers_of(*way, folder) for way in all_ways}
    try:
        for measured in ways.values():
            await measured.start()
        for _ in range(rounds):
            for measured in ways.values():
                await measured.measure()
    finally:
        for measured in ways.values():
            await measured.sampler.close()
    return ways


def main() -> None:
    arguments = parser(__doc__ or "").parse_args()
    torch.set_num_threads(1)
    origin = stamp("torch", "transformers")
    with tempfile.TemporaryDirectory() as folder:
        ways = asyncio.run(measure(2 if arguments.quick else ROUNDS, Path(folder)))
    table(
        ["servers × threads", "start s", "batch s, median", "least", "most", "CPU s, median"],
        [
            [
                str(n),
                m.start_seconds,
                median(m.seconds),
                min(m.seconds),
                max(m.seconds),
                median(m.cpu_seconds),
            ]
            for (n, threads), m in ways.items()
        ],
    )
    first, *others = ways.values()
    equal = sum(all(m.tokens[tag] == first.tokens[tag] for m in others) for tag in first.tokens)
    print(f"equal tokens: {equal} of {PROMPTS} prompts")
    sizes = {"prompts": PROMPTS, "completions": COMPLETIONS, "tokens": TOKENS, "equal_prompts": equal}
    result = {
        f"{n}x{threads}": {
            "start_seconds": m.start_seconds,
            "seconds": m.seconds,
            "cpu_seconds": m.cpu_seconds,
        }
        for (n, threads), m in ways.items()
    }
    software = {"model": STARTER.name, "vllm": vllm_version()}
    write("vllm_servers", origin | software | sizes | {"servers": result}, depth=3)


if __name__ == "__main__":
    main()
