"""One more token for every row, without what a general forward pass does beside it.

A decoding step of a small model is spent on many small operations. Here masks are made once per step, nothing is
transposed or repeated for grouped heads, and attention is two batched products over the cache: about half of the
operations of the model's own step. Layers are called as modules, so an adapter counts as it is put on them.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel

from worker.rollout.cache import RoomyLayer, roomy_cache
from worker.rollout.shared import SharedPrompts, joined

_LAYER = ("self_attn", "mlp", "input_layernorm", "post_attention_layernorm")
_ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj", "head_dim", "scaling")
_MLP = ("gate_proj", "up_proj", "down_proj", "act_fn")
_TOLERANCE = 1e-4


class LeanStep:
    """The decoding step of models built as Llama, Mistral, Qwen 2 and Qwen 3 are, in float32 or float64."""

    def __init__(self, model: PreTrainedModel) -> None:
        self._model = model
        self._decoder: Any = model.model

    def __call__(
        self,
        ids: Tensor,
        positions: Tensor,
        padding: Tensor | None,
        cache: DynamicCache,
        prompts: SharedPrompts | None = None,
    ) -> Tensor:
        """Logits (R, V) behind token ids (R,) at positions (R,), which are written into the cache.

        padding: (R, columns, these included), 0 where a row has none; None where every row has all. prompts: what comes
        before the cache's first column; None where the cache has all.
        """
        decoder = self._decoder
        x = decoder.embed_tokens(ids)
        cos, sin = decoder.rotary_emb(x[:, None], positions[:, None])
        turn = cos, _signed(sin)
        bias = None if padding is None else _bias(padding, x.dtype)
        for number, layer in enumerate(decoder.layers):
            behind = None if prompts is None else partial(prompts.attend, number)
            x = x + _attend(
                layer.self_attn, _norm(layer.input_layernorm, x), turn, bias, cache.layers[number], behind
            )
            x = x + _transform(layer.mlp, _norm(layer.post_attention_layernorm, x))
        logits: Tensor = self._model.lm_head(_norm(decoder.norm, x))
        return logits


def lean_step(model: PreTrainedModel) -> LeanStep | None:
    """The model's lean step, if it is built that way and says what the model itself says: tried, since an architecture
    may do more than its parts show."""
    if model.dtype not in (torch.float32, torch.float64) or not _is_built_so(model):
        return None
    step, size = LeanStep(model), model.config.get_text_config().vocab_size
    padding = torch.ones((2, 5), dtype=torch.int64, device=model.device)
    padding[1, :2] = 0
    ids = (torch.arange(10, device=model.device).view(2, 5) * 7 + 3) % size
    positions = (padding.cumsum(1) - 1).clamp(min=0)
    with torch.inference_mode():
        said = model(input_ids=ids, attention_mask=padding, position_ids=positions, use_cache=False).logits
        cache = roomy_cache(model)
        model(
            input_ids=ids[:, :3],
            attention_mask=padding[:, :3],
            position_ids=positions[:, :3],
            past_key_values=cache,
            use_cache=True,
        )
        for column in (3, 4):
            found = step(ids[:, column], positions[:, column], padding[:, : column + 1], cache)
            wanted = said[:, column]
            if not bool((found - wanted).abs().max() <= _TOLERANCE * wanted.abs().max()):
                return None
    return step


def _is_built_so(model: PreTrainedModel) -> bool:
    """Whether it has the parts that the step uses, and keeps every token of every layer."""
    decoder = getattr(model, "model", None)
    layers = getattr(decoder, "layers", None)
    if decoder is not model.get_decoder() or not layers or not hasattr(model, "lm_head"):
        return False
    return (
        all(hasattr(decoder, name) for name in ("embed_tokens", "rotary_emb", "norm"))
        and _has_rms(decoder.norm)
        and all(_is_layer(layer) for layer in layers)
        and all(type(layer) is RoomyLayer for layer in roomy_cache(model).layers)
    )


def _is_layer(layer: Any) -> bool:
    return (
        all(hasattr(layer, name) for name in _LAYER)
        and all(hasattr(layer.self_attn, name) for name in _ATTENTION)
        and all(hasattr(layer.mlp, name) for name in _MLP)
        and _has_rms(layer.input_layernorm)
        and _has_rms(layer.post_attention_layernorm)
    )


def _has_rms(norm: Any) -> bool:
    return hasattr(norm, "weight") and hasattr(norm, "variance_epsilon")


def _norm(norm: Any, x: Tensor) -> Tensor:
    """RMSNorm over the last dimension."""
    square = torch.linalg.vecdot(x, x).unsqueeze(-1)
    scale = square.div_(x.shape[-1]).add_(norm.variance_epsilon).rsqrt_()
    scaled: Tensor = (x * scale).mul_(norm.weight)
    return scaled


def _attend(
    attention: Any,
    x: Tensor,
    turn: tuple[Tensor, Tensor],
    bias: Tensor | None,
    layer: RoomyLayer,
    behind: Callable[[Tensor, float], tuple[Tensor, Tensor]] | None,
) -> Tensor:
    """x (R, H) → (R, H), over what the cache's layer has, x itself and what `behind` finds."""
    rows, size = len(x), attention.head_dim
    query, key, value = (
        project(x).view(rows, -1, size) for project in (attention.q_proj, attention.k_proj, attention.v_proj)
    )
    if hasattr(attention, "q_norm"):
        query, key = _norm(attention.q_norm, query), _norm(attention.k_norm, key)
    query, key = _turned(query, turn), _turned(key, turn)
    keys, values = layer.update(key.unsqueeze(2), value.unsqueeze(2))
    heads, columns = keys.shape[1:3]
    # The query heads that share a key head stand together: they are the rows of one product.
    grouped = query.view(rows * heads, -1, size)
    weights = torch.bmm(grouped, keys.flatten(0, 1).mT).mul_(attention.scaling)
    if bias is not None:
        weights.view(rows, -1, columns).add_(bias)
    found = torch.bmm(weights.softmax(-1), values.flatten(0, 1)).view(rows, -1, size)
    if behind is not None:
        total = weights.logsumexp(-1).view(rows, -1)
        found = joined(found, total, *behind(query, attention.scaling))
    mixed: Tensor = attention.o_proj(found.reshape(rows, -1))
    return mixed


def _transform(mlp: Any, x: Tensor) -> Tensor:
    out: Tensor = mlp.down_proj(mlp.act_fn(mlp.gate_proj(x)).mul_(mlp.up_proj(x)))
    return out


def _turned(x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    """Rotary positions on (R, heads, D): the halves of a head are the two coordinates (Su et al. 2021)."""
    cos, signed = turn
    return torch.addcmul(x * cos, x.roll(x.shape[-1] // 2, -1), signed)


def _signed(sin: Tensor) -> Tensor:
    """For `_turned`: the first half is turned by the second with a minus."""
    half = sin.shape[-1] // 2
    return torch.cat([-sin[..., :half], sin[..., half:]], dim=-1)


def _bias(padding: Tensor, dtype: torch.dtype) -> Tensor:
    """(R, 1, columns): what attention weights get added, minus infinity over padding."""
    none = torch.zeros(padding.shape, dtype=dtype, device=padding.device)
    return none.masked_fill_(padding == 0, -torch.inf).unsqueeze(1)
