"""Section `vllm`: the server as a job starts it, beside the trainer's policy on the same GPU."""

import asyncio
import time
from collections.abc import Awaitable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from common.gpu.job import no_vllm
from common.gpu.models import RANK, move, sequences, shape_of
from common.gpu.rows import NO_GPU, Row, Setting, at_most, figure, holds, of_gpu, waiting
from common.random_model import Shape, save
from reinforge.errors import JobFailure
from reinforge.spec import JobSpec
from worker.machine.vllm_python import vllm_python
from worker.policy.base import Sequences
from worker.policy.host import LocalHost
from worker.policy.load import load_base_model
from worker.policy.lora import LoraPolicy
from worker.rollout.engine import GenerateRequest, NoiseKey, Sample, Sampling
from worker.rollout.noise import Stream
from worker.rollout.vllm.engine import VllmEngine
from worker.rollout.vllm.probe import AdapterProbe
from worker.rollout.vllm.server import VllmServer
from worker.trainer.vllm_engine import options, scorer
from worker.trainer.vllm_servers import describe

POLICY = "policy"
PER_PROMPT = 8
LARGEST_GAP = 0.3
"""Nats, the mean over tokens: what is beyond is not the same policy."""


@dataclass(frozen=True, slots=True)
class Load:
    rows: tuple[int, ...] = (64, 1024)
    prompt: int = 256
    completion: int = 256


SIZE = "1.5B"
SIZES, START, PROBE = (f"{SIZE}: {part}" for part in ("sizes", "start", "probe"))
ADAPTER, REST, AFTER, SAMPLES = (
    f"{SIZE}: {part}"
    for part in ("a new adapter", "rest", "a new adapter after a rest", "samples after a rest")
)
ARMS = {"base": None, "adapter": POLICY}


def names() -> list[str]:
    gaps = [_gap(how) for how in ARMS]
    rates = [_rate(rows, how) for rows in Load().rows for how in ARMS]
    return [SIZES, START, *gaps, PROBE, *rates, ADAPTER, REST, AFTER, SAMPLES]


def _gap(how: str) -> str:
    return f"{SIZE}, {how}: mean gap of log-probabilities"


def _rate(rows: int, how: str) -> str:
    return f"{SIZE}, engine vllm, {rows:,} rows, {how}: sampling"


def run(setting: Setting) -> Iterator[Row]:
    if missing := no_vllm(setting):
        yield from (waiting(name, missing) for name in names())
        return
    bench = Bench(
        shape_of(SIZE, setting),
        setting,
        replace(Load(), prompt=24, completion=16) if setting.tiny else Load(),
    )
    try:
        yield from bench.rows()
    except JobFailure as error:
        end = (getattr(error, "traceback", "") or "").strip().splitlines()[-12:]
        yield holds(f"{SIZE}: the server works", False, error.message, log=end)
    finally:
        bench.close()


class Bench:
    """A model with an adapter, loaded by the trainer and by a server on the same device."""

    def __init__(self, shape: Shape, setting: Setting, load: Load) -> None:
        folder = setting.folder / f"model-{shape.hidden}-{shape.layers}"
        save(folder, shape, device=setting.device)
        self.setting, self.load = setting, load
        self.base = load_base_model(folder)
        self.policy: LoraPolicy = LocalHost(self.base).create_policy(
            POLICY, rank=RANK, alpha=2.0 * RANK, targets="all-linear", seed=0
        )
        move(self.policy)
        job = JobSpec.model_validate(
            {
                "model": str(folder),
                "data": {"dataset": "none"},
                "rewards": [{"type": "string_check", "input": "a", "operation": "eq", "reference": "a"}],
                "rollout": {
                    "engine": "vllm",
                    "prompts_per_step": max(load.rows) // PER_PROMPT,
                    "completions_per_prompt": PER_PROMPT,
                    "max_completion_tokens": load.completion,
                },
                "adapter": {"rank": RANK},
            }
        )
        python = vllm_python()
        assert python is not None
        self.chosen = options(job, self.base, folder, load.prompt + load.completion)
        self.server = VllmServer(
            python, self.chosen, setting.folder / "vllm.log", make_room=torch.cuda.empty_cache
        )
        self.engine = VllmEngine(self.server, self._export)
        self.loop = asyncio.new_event_loop()
        self.version = 0
        self.shape = shape

    def rows(self) -> Iterator[Row]:
        on_gpu = self.setting.device == "cuda"
        yield holds(SIZES, True, describe(self.chosen)) if on_gpu else waiting(SIZES, NO_GPU)
        yield self._figure(START, self._publish(), "s")
        yield from self._gaps()
        yield self._probe()
        for rows in self.load.rows:
            for how, policy in ARMS.items():
                sampled = PER_PROMPT if self.setting.tiny else rows
                seconds, samples = self._sample(policy, sampled, self.load.completion)
                tokens = sum(len(sample.token_ids) for _, sample in samples)
                yield self._figure(_rate(rows, how), tokens / seconds, "tokens/s")
        yield self._figure(ADAPTER, self._publish(), "s")
        yield self._figure(REST, self._timed(self.engine.rest()), "s")
        yield self._figure(AFTER, self._publish(), "s")
        _, samples = self._sample(POLICY, 8, 8)
        yield holds(SAMPLES, len(samples) == 8)

    def _figure(self, name: str, value: float, unit: str) -> Row:
        return of_gpu(figure(name, value, unit), self.setting)

    def close(self) -> None:
        self.loop.run_until_complete(self.engine.close())

    def _gaps(self) -> Iterator[Row]:
        """Between what the server says of its samples and what the trainer says of the same tokens."""
        for how, policy in ARMS.items():
            _, samples = self._sample(policy, 32, min(64, self.load.completion))
            rows = Sequences([prompt for prompt, _ in samples], [s.token_ids for _, s in samples], 1.0)
            scores = self.policy.log_probs(rows).logprobs if policy else self.policy.reference_log_probs(rows)
            gaps = torch.cat(
                [
                    (scores[row, : len(sample.logprobs)].cpu() - torch.tensor(sample.logprobs)).abs()
                    for row, (_, sample) in enumerate(samples)
                ]
            )
            details = {"p95": float(gaps.quantile(0.95)), "largest": float(gaps.max()), "tokens": len(gaps)}
            yield at_most(_gap(how), float(gaps.mean()), LARGEST_GAP, "nats", **details)

    def _probe(self) -> Row:
        """The probe of a job, which runs after its first update."""
        messages: list[str] = []
        self.engine._probe = AdapterProbe(
            scorer(lambda rows: self.policy.log_probs(rows).logprobs),
            scorer(self.policy.reference_log_probs),
            exact=self.base.model.dtype == torch.float32,
            notify=messages.append,
            warn=messages.append,
        )
        try:
            self._sample(POLICY, 8, 8)
        except JobFailure as error:
            return holds(PROBE, False, error.message)
        return holds(PROBE, True, "; ".join(messages))

    def _publish(self) -> float:
        self.version += 1
        return self._timed(self.engine.publish(POLICY, self.version))

    def _sample(
        self, policy: str | None, rows: int, tokens: int
    ) -> tuple[float, list[tuple[Sequence[int], Sample]]]:
        """Seconds, and every sample with its prompt; prompts are new ones each time."""
        prompts = sequences(self.shape, rows // PER_PROMPT, 1, self.load.prompt, 1).prompts
        requests = [
            GenerateRequest(
                policy,
                self.version,
                (number + 1, rows % 100 + 1, *prompt[2:]),
                PER_PROMPT,
                Sampling(tokens, 1.0),
                NoiseKey(0, Stream.TRAIN, self.version, number),
                number,
            )
            for number, prompt in enumerate(prompts)
        ]
        samples: list[tuple[Sequence[int], Sample]] = []

        async def collect() -> None:
            async for answer in self.engine.generate(requests):
                samples.extend((answer.request.prompt_ids, sample) for sample in answer.samples)

        return self._timed(collect()), samples

    def _timed(self, work: Awaitable[Any]) -> float:
        async def awaited() -> None:
            await work

        began = time.perf_counter()
        self.loop.run_until_complete(awaited())
        return time.perf_counter() - began

    def _export(self, _: str, target: Path) -> None:
        self.policy.export(target, base_model="measured")
