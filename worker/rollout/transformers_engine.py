"""In-process rollout engine on the trainer's own model, with the policy's adapter enabled or disabled.

Decoding runs in the caller's thread, one token per turn of the event loop, so finished groups can be scored
while others are still being generated, and torch keeps one thread pool.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractContextManager, aclosing
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel

from worker.machine.memory import (
    amount_asked,
    is_out_of_memory,
    memory_in_words,
    out_of_memory,
    release,
    with_amount,
)
from worker.rollout.cpu.decode_step import has_lean_step, lean_step
from worker.rollout.decoding import DecodeBatch, Part
from worker.rollout.engine import Generated, GenerateRequest, Sample

CPU_CACHE_BYTES = 2 * 1024**3
"""Fixed on the CPU, so that batches do not depend on what else the machine is doing."""
_LEAST_CACHE_BYTES = 256 * 1024**2
"""Smallest cache of an engine that shares memory with others."""


class TransformersEngine:
    """`RolloutEngine` over a loaded model.

    `sampling_as(policy)` is a context for the time of a batch, and gives contexts in which the model computes as that
    policy (None: as the base).
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: Any,
        sampling_as: Callable[
            [str | None], AbstractContextManager[Callable[[], AbstractContextManager[None]]]
        ],
        *,
        cache_bytes: int | None = None,
        copies: int = 1,
    ) -> None:
        """copies: engines that share the memory for caches, this one included."""
        self._model = model
        self._tokenizer = tokenizer
        self._sampling_as = sampling_as
        with sampling_as(None) as active, active():
            self._lean = has_lean_step(model)
        share = cache_bytes or max(_cache_bytes(model) // copies, _LEAST_CACHE_BYTES)
        self._tokens_in_cache = share // cache_bytes_per_token(model)
        self.tell: Callable[[str], None] = lambda message: None
        """Warning callback for out-of-memory retries."""
        self._versions: dict[str, int] = {}
        self._cancelled = threading.Event()

    async def generate(self, requests: Sequence[GenerateRequest]) -> AsyncGenerator[Generated, None]:
        """Raises JobFailure `out_of_memory` (retryable) where not even one row has room."""
        collected: dict[int, list[tuple[int, tuple[Sample, ...]]]] = {}
        waiting = plan(requests, self._tokens_in_cache)
        try:
            while waiting:
                left = list(waiting[0])
                self._check_version(left[0].request)
                try:
                    async with aclosing(self._run(waiting[0])) as finished:
                        async for part, samples in finished:
                            left = [other for other in left if other is not part]
                            part_samples = collected.setdefault(id(part.request), [])
                            part_samples.append((part.first, samples))
                            if sum(len(some) for _, some in part_samples) == part.request.n:
                                yield Generated(part.request, _in_order(part_samples))
                    waiting = waiting[1:]
                    continue
                except (RuntimeError, MemoryError, OSError) as error:
                    if not is_out_of_memory(error):
                        raise
                    requested = amount_asked(error)
                # Outside the handler: the error holds the frames and their tensors. Noise belongs to rows: sampled
                # again in other batches, they become the same completions.
                release(self._model.device)
                self._shrink(waiting[0], requested)
                left.extend(part for parts in waiting[1:] for part in parts)
                waiting = plan_parts(left, self._tokens_in_cache)
        finally:
            self._cancelled.clear()

    def _shrink(self, parts: Sequence[Part], requested: str | None) -> None:
        """Plan for half the tokens that this batch had."""
        rows, widest = sum(part.count for part in parts), max(_width(part.request) for part in parts)
        tokens, device = min(self._tokens_in_cache, rows * widest), self._model.device
        at_hand = memory_in_words(device)
        why = with_amount(requested) + (f"; {at_hand}" if at_hand else "")
        if rows == 1:
            raise out_of_memory(device, f"sampling one row of {widest:,} tokens does not fit{why}")
        self._tokens_in_cache = max(widest, tokens // 2)
        self.tell(
            f"Out of memory while {rows:,} rows of up to {widest:,} tokens were sampled at once{why}. What had not "
            f"ended is sampled again, {self._tokens_in_cache // widest:,} rows at once"
        )

    async def _run(self, parts: list[Part]) -> AsyncGenerator[tuple[Part, tuple[Sample, ...]], None]:
        policy = parts[0].request.policy
        waiting = dict(enumerate(parts))
        batch: DecodeBatch | None = None
        with self._sampling_as(policy) as active:
            while waiting:
                # All is switched inside one turn: between turns other code may use the model.
                with torch.inference_mode(), active():
                    if batch is None:
                        lean = lean_step(self._model) if self._lean else None
                        batch = DecodeBatch(self._model, parts, self._decode, lean)
                    if self._cancelled.is_set():
                        batch.end("cancelled")
                    else:
                        batch.advance()
                for index in list(waiting):
                    if (samples := batch.samples(index)) is not None:
                        yield waiting.pop(index), samples
                await asyncio.sleep(0)

    def cancel(self) -> None:
        self._cancelled.set()

    async def publish(self, policy: str, version: int, path: Path | None = None) -> None:
        self._versions[policy] = version

    async def rest(self) -> None:
        """Holds nothing between samplings."""

    async def close(self) -> None:
        self._versions.clear()

    def _check_version(self, request: GenerateRequest) -> None:
        if request.policy is not None and self._versions.get(request.policy) != request.version:
            held = self._versions.get(request.policy)
            raise ValueError(f"asked for {request.policy} version {request.version}, the engine holds {held}")

    def _decode(self, token_ids: Sequence[int]) -> str:
        text: str = self._tokenizer.decode(token_ids, skip_special_tokens=False)
        return text


def plan(requests: Sequence[GenerateRequest], tokens_in_cache: int) -> list[list[Part]]:
    """Forward batches: requests of one policy and sampling, longest prompts first, within the cache."""
    return plan_parts([Part(request, 0, request.n) for request in requests], tokens_in_cache)


def plan_parts(parts: Sequence[Part], tokens_in_cache: int) -> list[list[Part]]:
    """As `plan`, of what is left of requests."""
    batches: list[list[Part]] = []
    rows = 0
    for part in sorted(parts, key=lambda part: -len(part.request.prompt_ids)):
        request, first, end = part.request, part.first, part.first + part.count
        while first < end:
            head = batches[-1][0].request if batches else None
            same = head is not None and _kind(head) == _kind(request)
            # The longest prompt comes first, so every row of a batch needs at most what its first row does.
            widest = _width(head) if same and head else _width(request)
            room = tokens_in_cache // widest - rows if same else 0
            if room < 1:
                batches.append([])
                rows, room = 0, max(1, tokens_in_cache // _width(request))
            count = min(end - first, room)
            batches[-1].append(Part(request, first, count))
            rows += count
            first += count
    return batches


def _width(request: GenerateRequest) -> int:
    """Tokens of a row, at most."""
    return len(request.prompt_ids) + request.sampling.max_tokens


def _in_order(parts: list[tuple[int, tuple[Sample, ...]]]) -> tuple[Sample, ...]:
    """Samples by sample number; retried parts may have finished in any order."""
    ordered = sorted(parts, key=lambda part: part[0])
    return tuple(sample for _, samples in ordered for sample in samples)


def cache_bytes_per_token(model: PreTrainedModel) -> int:
    """Keys and values of one token in all layers."""
    config = model.config.get_text_config()
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return int(2 * config.num_hidden_layers * heads * head_dim * model.dtype.itemsize)


def _kind(request: GenerateRequest) -> tuple[object, ...]:
    noise = request.noise
    return request.policy, request.version, request.sampling, noise.seed, noise.stream, noise.step


def _cache_bytes(model: PreTrainedModel) -> int:
    if model.device.type != "cuda":
        return CPU_CACHE_BYTES
    free, _ = torch.cuda.mem_get_info(model.device)
    return int(free * 0.4)
