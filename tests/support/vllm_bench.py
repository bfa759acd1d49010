"""A vLLM server with the starter model, and the same model as the trainer computes it."""

import asyncio
import math
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch
from transformers import AutoTokenizer

import worker.starter
from worker.policy.base import Sequences
from worker.policy.host import LocalHost
from worker.policy.load import load_base_model
from worker.policy.lora import LoraPolicy
from worker.rollout.engine import Generated, GenerateRequest, NoiseKey, Sampling
from worker.rollout.noise import Stream
from worker.rollout.vllm.adapters import Adapters
from worker.rollout.vllm.engine import VllmEngine
from worker.rollout.vllm.fleet import Fleet
from worker.rollout.vllm.member import FleetMember
from worker.rollout.vllm.options import Options
from worker.rollout.vllm.server import VllmServer

T = TypeVar("T")
STARTER = Path(worker.starter.__file__).parent / "starter-arith"
RANK = 4


class Trainer:
    """The starter model with an adapter that does something, as the trainer has it."""

    def __init__(self) -> None:
        self.base = load_base_model(STARTER)
        self.tokenizer = AutoTokenizer.from_pretrained(STARTER)
        self.host = LocalHost(self.base)
        self.policy: LoraPolicy = self.host.create_policy(
            "policy", rank=RANK, alpha=8, targets="all-linear", seed=0
        )
        self.move(0)

    def move(self, seed: int) -> None:
        """Replace the adapter by another random one."""
        with torch.no_grad():
            for name, parameter in self.base.model.named_parameters():
                if "lora_B" in name:
                    generator = torch.Generator().manual_seed(seed * 1000 + len(name))
                    parameter.normal_(std=0.05, generator=generator)

    def export(self, policy: str, folder: Path) -> None:
        self.policy.export(folder, base_model="starter-arith")

    def ask(
        self,
        texts: Sequence[str],
        *,
        n: int = 3,
        policy: str | None = "policy",
        version: int = 0,
        step: int = 1,
        **sampling: Any,
    ) -> list[GenerateRequest]:
        settings = {"max_tokens": 24, "temperature": 1.0, "stop_ids": self.base.stop_ids} | sampling
        return [
            GenerateRequest(
                policy=policy,
                version=version,
                prompt_ids=tuple(self.tokenizer(text)["input_ids"]),
                n=n,
                sampling=Sampling(**settings),
                noise=NoiseKey(9, Stream.TRAIN, step, number),
                tag=number,
            )
            for number, text in enumerate(texts)
        ]

    def gap(self, answers: Sequence[Generated], *, temperature: float = 1.0, base: bool = False) -> float:
        """Largest difference of a log-probability between the server's answers and the trainer."""
        rows = [(answer.request.prompt_ids, sample) for answer in answers for sample in answer.samples]
        sequences = Sequences([ids for ids, _ in rows], [s.token_ids for _, s in rows], temperature)
        trainer_logprobs = (
            self.policy.reference_log_probs(sequences) if base else self.policy.log_probs(sequences).logprobs
        )
        gaps = [
            abs(server_logprob - ours)
            for row, (_, sample) in enumerate(rows)
            for server_logprob, ours in zip(sample.logprobs, trainer_logprobs[row].tolist(), strict=False)
        ]
        assert gaps and not any(math.isnan(gap) for gap in gaps)
        return max(gaps)


class Bench:
    """An engine on a server, or a fleet of `servers`, driven from outside its event loop."""

    def __init__(
        self, python: Path, folder: Path, trainer: Trainer, *, servers: int = 1, **engine: Any
    ) -> None:
        self.loop = asyncio.new_event_loop()
        self.messages: list[str] = []
        self.stages: list[str] = []
        logs = [folder / (f"vllm-{number + 1}.log" if number else "vllm.log") for number in range(servers)]
        self.servers = [self._server(python, log) for log in logs]
        self.log, self.server = logs[0], self.servers[0]
        self.engine = VllmEngine(self.server, trainer.export, **engine)
        self.sampler: VllmEngine | Fleet = self.engine
        if servers > 1:
            adapters = Adapters(self.server.adapters)
            members = [
                FleetMember(f"vLLM server {number + 1}", server, 128, adapters)
                for number, server in enumerate(self.servers)
            ]
            self.sampler = Fleet(members, adapters, trainer.export, self.messages.append)

    def _server(self, python: Path, log: Path) -> VllmServer:
        return VllmServer(
            python,
            Options(STARTER, "float32", "cpu", max_model_len=512, rank=RANK, sleeps="weights"),
            log,
            notify=self.messages.append,
            progress=lambda stage: self.stages.append(stage.text),
            make_room=lambda: self.messages.append("room is made"),
        )

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(coroutine)

    def publish(self, version: int, path: Path | None = None) -> None:
        self.run(self.sampler.publish("policy", version, path))

    def generate(self, requests: Sequence[GenerateRequest]) -> list[Generated]:
        async def collect() -> list[Generated]:
            return [answer async for answer in self.sampler.generate(requests)]

        return sorted(self.run(collect()), key=lambda answer: answer.request.tag)

    def allow_restart(self) -> None:
        """Allow another restart of the server: an engine restarts it once."""
        self.server._restarts = 0

    def close(self) -> None:
        self.run(self.sampler.close())
        self.loop.close()
