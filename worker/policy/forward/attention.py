"""Attention over packed sequences (`Spans`), registered with transformers: torch's variable-length flash
attention where it works, otherwise a loop.
"""

import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable
from transformers import AttentionInterface

from worker.machine.memory import is_out_of_memory
from worker.policy.forward.rows import AttentionSegment, Spans

NAME = "packed_rows"
KEYWORD = "spans"
Kernel = Callable[[Tensor, Tensor, Tensor, Spans, float | None], Tensor]
"""Attention function: queries (S, H, D), keys and values (S, h, D), spans and scale → output (S, H, D)."""
_HARMLESS = {"dropout", "position_ids", "is_causal", "use_cache", "output_attentions", "cache_position"}
_TOLERANCE = 0.02
"""Tolerance of the kernel's output and gradients, relative to their norm."""
_active: dict[int, tuple[int, str]] = {}
_lock = threading.Lock()


class CannotPack(Exception):
    pass


@contextmanager
def packed_attention(model: torch.nn.Module) -> Iterator[None]:
    """Context in which `model`'s decoder computes packed attention. Threads may share it."""
    config: Any = model.config.get_text_config()  # type: ignore[operator, union-attr]
    key = id(config)
    with _lock:
        count, before = _active.get(key, (0, config._attn_implementation))
        _active[key] = (count + 1, before)
        config._attn_implementation = NAME
    try:
        yield
    finally:
        with _lock:
            count, before = _active.pop(key)
            if count > 1:
                _active[key] = (count - 1, before)
            else:
                config._attn_implementation = before


def _attention(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    spans: Spans | None = None,
    **others: Any,
) -> tuple[Tensor, None]:
    """Attention (1, H, S, D) → (1, S, H, D), called by transformers. Raises CannotPack for arguments that it
    does not support.
    """
    unsupported = [
        name
        for name, argument in others.items()
        if name not in _HARMLESS and argument is not None and argument is not False
    ]
    if spans is None or attention_mask is not None or others.get("dropout") or unsupported:
        raise CannotPack(
            "packed attention needs spans, and supports neither a mask nor dropout nor "
            f"{', '.join(unsupported) or 'other arguments'}: {type(module).__name__} passes it otherwise"
        )
    queries, keys, values = (states.squeeze(0).transpose(0, 1) for states in (query, key, value))
    width = values.shape[-1]
    kernel = _kernel(queries.device, queries.dtype, queries.shape[1], keys.shape[1], queries.shape[-1])
    spans.kernels.add(kernel.__name__)
    if kernel is not loop and width != queries.shape[-1]:
        values = F.pad(values, (0, queries.shape[-1] - width))
    return kernel(queries, keys, values, spans, scaling)[..., :width][None], None


AttentionInterface.register(NAME, _attention)


@cache
def _kernel(device: torch.device, dtype: torch.dtype, heads: int, key_heads: int, width: int) -> Kernel:
    if device.type == "cuda" and dtype in (torch.bfloat16, torch.float16):
        for kernel in (varlen, varlen_repeated):
            if _agrees(kernel, device, dtype, heads, key_heads, width):
                return kernel
    return loop


def loop(queries: Tensor, keys: Tensor, values: Tensor, spans: Spans, scale: float | None) -> Tensor:
    """Reference implementation of packed attention for any device and precision."""
    keys, values = keys.transpose(0, 1)[None], values.transpose(0, 1)[None]
    outputs = [
        _segment(queries[s.start : s.stop].transpose(0, 1)[None], keys, values, s, scale)
        for s in spans.segments
    ]
    return torch.cat(outputs, dim=2)[0].transpose(0, 1)


def _segment(
    queries: Tensor, keys: Tensor, values: Tensor, segment: AttentionSegment, scale: float | None
) -> Tensor:
    begin, end = segment.prompt
    own = slice(segment.start, segment.stop)
    if begin == end:
        keys, values = keys[:, :, own], values[:, :, own]
        mask = None
    else:
        keys, values = (torch.cat([x[:, :, begin:end], x[:, :, own]], dim=2) for x in (keys, values))
        rows, columns = queries.shape[2], keys.shape[2]
        mask = torch.ones((rows, columns), dtype=torch.bool, device=queries.device).tril(columns - rows)
    return F.scaled_dot_product_attention(
        queries,
        keys,
        values,
        attn_mask=mask,
        is_causal=mask is None,
        scale=scale,
        enable_gqa=queries.shape[1] != keys.shape[1],
    )


def varlen(queries: Tensor, keys: Tensor, values: Tensor, spans: Spans, scale: float | None) -> Tensor:
    """All segments in one kernel, with several query heads per key head."""
    return _varlen(queries, *_gathered(keys, values, spans.index), spans, scale)


def varlen_repeated(
    queries: Tensor, keys: Tensor, values: Tensor, spans: Spans, scale: float | None
) -> Tensor:
    """Like `varlen`, for kernels that need one key head per query head."""
    keys, values = _gathered(keys, values, spans.index)
    times = queries.shape[1] // keys.shape[1]
    return _varlen(
        queries, keys.repeat_interleave(times, dim=1), values.repeat_interleave(times, dim=1), spans, scale
    )


def _varlen(queries: Tensor, keys: Tensor, values: Tensor, spans: Spans, scale: float | None) -> Tensor:
    from torch.nn.attention.varlen import varlen_attn

    # torch 2.11 has no `enable_gqa`; its kernel takes fewer key heads unasked.
    grouped: dict[str, Any] = (
        {"enable_gqa": True} if _knows("enable_gqa") and queries.shape[1] != keys.shape[1] else {}
    )
    attended = varlen_attn(
        queries,
        keys,
        values,
        spans.query_starts,
        spans.key_starts,
        spans.most_queries,
        spans.most_keys,
        scale=scale,
        window_size=(-1, 0),
        **grouped,
    )
    assert isinstance(attended, Tensor)
    return attended


@cache
def _knows(argument: str) -> bool:
    from torch.nn.attention.varlen import varlen_attn

    return argument in inspect.signature(varlen_attn).parameters


def _gathered(keys: Tensor, values: Tensor, index: Tensor | None) -> tuple[Tensor, Tensor]:
    if index is None:
        return keys, values
    gathered: tuple[Tensor, Tensor] = _Gather.apply(keys, values, index)  # type: ignore[no-untyped-call]
    return gathered


class _Gather(torch.autograd.Function):
    """Gathers keys and values by position. Gradients of a repeated prompt are summed in float32."""

    @staticmethod
    def forward(ctx: Any, keys: Tensor, values: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        ctx.index, ctx.size = index, len(keys)
        return keys.index_select(0, index), values.index_select(0, index)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return *(_scattered(gradient, ctx.index, ctx.size) for gradient in gradients), None


def _scattered(gradient: Tensor, index: Tensor, size: int) -> Tensor:
    wide = gradient.to(torch.promote_types(gradient.dtype, torch.float32))
    total = wide.new_zeros((size, *wide.shape[1:])).index_add_(0, index, wide)
    return total.to(gradient.dtype)


def _agrees(
    kernel: Kernel, device: torch.device, dtype: torch.dtype, heads: int, key_heads: int, width: int
) -> bool:
    segments = (AttentionSegment(0, 70), AttentionSegment(70, 103, (0, 40)), AttentionSegment(103, 120))
    index = torch.tensor([*range(70), *range(40), *range(70, 103), *range(103, 120)], device=device)
    starts, key_starts = (
        torch.tensor(offsets, dtype=torch.int32, device=device)
        for offsets in ([0, 70, 103, 120], [0, 70, 143, 160])
    )
    spans = Spans(segments, index, starts, key_starts)
    generator = torch.Generator().manual_seed(0)
    drawn = [torch.randn((120, n, width), generator=generator) for n in (heads, key_heads, key_heads, heads)]
    results = []
    for function, precision in ((kernel, dtype), (loop, torch.float32)):
        queries, keys, values, behind = (x.to(device, dtype).to(precision) for x in drawn)
        leaves = [x.requires_grad_() for x in (queries, keys, values)]
        try:
            with torch.enable_grad():
                output = function(*leaves, spans, None)  # type: ignore[call-arg, arg-type]
                results.append([output, *torch.autograd.grad(output, leaves, behind)])
        except (RuntimeError, TypeError, ValueError, ImportError, AssertionError) as error:
            if is_out_of_memory(error):
                raise
            return False
    return all(
        bool((one.float() - other).norm() <= _TOLERANCE * other.norm())
        for one, other in zip(*results, strict=True)
    )
