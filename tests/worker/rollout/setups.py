"""A tiny random model with an engine, and requests for engines."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer

from tests.support.tiny_models import write_tiny_model
from worker.policy.host import LocalHost
from worker.policy.load import load_base_model
from worker.rollout.engine import Generated, GenerateRequest, NoiseKey, RolloutEngine, Sampling
from worker.rollout.noise import Stream
from worker.rollout.text import Text
from worker.rollout.transformers_engine import TransformersEngine

END = 1


class Setup:
    def __init__(self, folder: Path, architecture: Any, threads: int = 1) -> None:
        self.base = load_base_model(write_tiny_model(folder, architecture))
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.text = Text(self.tokenizer)
        self.host = LocalHost(self.base, threads)
        self.policy = self.host.create_policy("policy", rank=4, alpha=8, targets="all-linear", seed=0)
        with torch.no_grad():
            for name, parameter in self.base.model.named_parameters():
                if "lora_B" in name:
                    parameter.normal_(std=0.2, generator=torch.Generator().manual_seed(len(name)))
        self.engine = self.new_engine()

    def new_engine(self, **options: Any) -> TransformersEngine:
        engine = TransformersEngine(self.base.model, self.text.raw, self.host.sampling_as, **options)
        asyncio.run(engine.publish("policy", 0))
        return engine

    def ask(
        self, texts: list[str], *, n: int = 3, policy: str | None = "policy", step: int = 1, **sampling: Any
    ) -> list[GenerateRequest]:
        settings = {"max_tokens": 12, "temperature": 1.0, "stop_ids": (END,)} | sampling
        return [
            GenerateRequest(
                policy=policy,
                version=0,
                prompt_ids=tuple(self.tokenizer(text)["input_ids"]),
                n=n,
                sampling=Sampling(**settings),
                noise=NoiseKey(9, Stream.TRAIN, step, number),
                tag=number,
            )
            for number, text in enumerate(texts)
        ]


def generate(engine: RolloutEngine, requests: Sequence[GenerateRequest]) -> list[Generated]:
    async def run() -> list[Generated]:
        return [answer async for answer in engine.generate(requests)]

    return sorted(asyncio.run(run()), key=lambda answer: answer.request.tag)
