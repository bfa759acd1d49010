"""In-process rollout engine on the trainer's model; finished groups are scored while others are sampled."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractContextManager, aclosing
from pathlib import Path

import torch
from transformers import PreTrainedModel

from worker.machine.memory import (
    is_out_of_memory,
    memory_in_words,
    out_of_memory,
    release,
    requested_amount,
    with_amount,
)
from worker.rollout.cpu import decoder_for
from worker.rollout.decoding import DecodeBatch, Part
from worker.rollout.engine import Generated, GenerateRequest, Sample

CPU_CACHE_BYTES = 2 * 1024**3
_LEAST_CACHE_BYTES = 256 * 1024**2


class TransformersEngine:
    """`RolloutEngine` on a loaded model. sampling_as: context manager of a batch; yields a function that
    makes a context manager per token.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        decode: Callable[[Sequence[Sequence[int]]], list[str]],
        sampling_as: Callable[
            [str | None], AbstractContextManager[Callable[[], AbstractContextManager[None]]]
        ],
        *,
        cache_bytes: int | None = None,
        copies: int = 1,
        refresh: Callable[[], None] = lambda: None,
    ) -> None:
        """refresh: called before a version is published, if the model has its own copy of the weights."""
        self._model = model
        self._decode = decode
        self._sampling_as = sampling_as
        with sampling_as(None) as active, active():
            self._new_decoder = decoder_for(model)
        share = cache_bytes or max(_cache_bytes(model) // copies, _LEAST_CACHE_BYTES)
        self._tokens_in_cache = share // cache_bytes_per_token(model)
        self.warn: Callable[[str], None] = lambda message: None
        self._refresh = refresh
        self._versions: dict[str, int] = {}
        self._cancelled = threading.Event()

    async def generate(self, requests: Sequence[GenerateRequest]) -> AsyncGenerator[Generated, None]:
        collected: dict[int, list[tuple[int, tuple[Sample, ...]]]] = {}
        waiting = plan(requests, self._tokens_in_cache)
        try:
            while waiting:
                unfinished = list(waiting[0])
                self._check_version(unfinished[0].request)
                try:
                    async with aclosing(self._run(waiting[0])) as finished:
                        async for part, samples in finished:
                            unfinished = [other for other in unfinished if other is not part]
                            part_samples = collected.setdefault(id(part.request), [])
                            part_samples.append((part.first, samples))
                            if sum(len(some) for _, some in part_samples) == part.request.n:
                                yield Generated(part.request, _in_order(part_samples))
                    waiting = waiting[1:]
                    continue
                except (RuntimeError, MemoryError, OSError) as error:
                    if not is_out_of_memory(error):
                        raise
                    requested = requested_amount(error)
                # Outside the handler, since the error references frames and their tensors. Noise depends on the row
                # alone, so a retry in smaller batches gives the same completions.
                release(self._model.device)
                self._shrink(waiting[0], requested)
                unfinished.extend(part for parts in waiting[1:] for part in parts)
                waiting = plan_parts(unfinished, self._tokens_in_cache)
        finally:
            self._cancelled.clear()

    def _shrink(self, parts: Sequence[Part], requested: str | None) -> None:
        rows, widest = sum(part.count for part in parts), max(_width(part.request) for part in parts)
        tokens, device = min(self._tokens_in_cache, rows * widest), self._model.device
        at_hand = memory_in_words(device)
        why = with_amount(requested) + (f"; {at_hand}" if at_hand else "")
        if rows == 1:
            raise out_of_memory(device, f"sampling one row of {widest:,} tokens does not fit{why}")
        self._tokens_in_cache = max(widest, tokens // 2)
        self.warn(
            f"Out of memory while {rows:,} rows of up to {widest:,} tokens were sampled at once{why}. Unfinished "
            f"requests are sampled again, {self._tokens_in_cache // widest:,} rows at once"
        )

    async def _run(self, parts: list[Part]) -> AsyncGenerator[tuple[Part, tuple[Sample, ...]], None]:
        policy = parts[0].request.policy
        waiting = dict(enumerate(parts))
        batch: DecodeBatch | None = None
        with self._sampling_as(policy) as active:
            while waiting:
                # The context is left before each turn of the event loop: other code may use the model then.
                with torch.inference_mode(), active():
                    if batch is None:
                        batch = DecodeBatch(self._new_decoder(), parts, self._decode)
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
        self._refresh()
        self._versions[policy] = version

    async def rest(self) -> None:
        """Keep all memory."""

    async def close(self) -> None:
        self._versions.clear()

    def _check_version(self, request: GenerateRequest) -> None:
        if request.policy is not None and self._versions.get(request.policy) != request.version:
            present = self._versions.get(request.policy)
            raise ValueError(
                f"requested {request.policy} version {request.version}, but the engine has {present}"
            )


def plan(requests: Sequence[GenerateRequest], tokens_in_cache: int) -> list[list[Part]]:
    """Divide requests into batches of equal policy and sampling that fit into the cache,
    longest prompts first.
    """
    return plan_parts([Part(request, 0, request.n) for request in requests], tokens_in_cache)


def plan_parts(parts: Sequence[Part], tokens_in_cache: int) -> list[list[Part]]:
    batches: list[list[Part]] = []
    rows = 0
    for part in sorted(parts, key=lambda part: -len(part.request.prompt_ids)):
        request, first, end = part.request, part.first, part.first + part.count
        while first < end:
            head = batches[-1][0].request if batches else None
            same = head is not None and _kind(head) == _kind(request)
            # Longest prompt first: no row of a batch is wider than its first.
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
    return len(request.prompt_ids) + request.sampling.max_tokens


def _in_order(parts: list[tuple[int, tuple[Sample, ...]]]) -> tuple[Sample, ...]:
    ordered = sorted(parts, key=lambda part: part[0])
    return tuple(sample for _, samples in ordered for sample in samples)


def cache_bytes_per_token(model: PreTrainedModel) -> int:
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
