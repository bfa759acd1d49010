"""Fast decode step on the CPU: one token per row, for Llama-like models."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel

from worker.rollout.cpu.matmul import Product, fastest_product
from worker.rollout.cpu.shared_prompts import SharedPrompts, combine_attention
from worker.rollout.kv_cache import RoomyLayer, roomy_cache

_LAYER = ("self_attn", "mlp", "input_layernorm", "post_attention_layernorm")
_ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj", "head_dim", "scaling")
_MLP = ("gate_proj", "up_proj", "down_proj", "act_fn")
_TOLERANCE = 1e-4
COPIED_BYTES = 2**31
MakeProduct = Callable[[Tensor, Tensor | None], Product]


class DecodeStep:
    """Decode step of models like Llama and Qwen 3. Raises UnsupportedLayer."""

    def __init__(self, model: PreTrainedModel, make: MakeProduct = fastest_product) -> None:
        self._model = model
        self._decoder: Any = model.model
        self._layers = [_Layer(layer, make) for layer in self._decoder.layers]
        head: Any = model.lm_head
        self._head = make(head.weight, head.bias) if type(head) is torch.nn.Linear else head

    def __call__(
        self,
        ids: Tensor,
        positions: Tensor,
        padding: Tensor | None,
        cache: DynamicCache,
        prompts: SharedPrompts | None = None,
    ) -> Tensor:
        """Logits (R rows, V tokens) after token ids (R,) at positions (R,). Extends the cache.

        padding: (R, columns including the new one), 0 at padding.
        """
        decoder = self._decoder
        x = decoder.embed_tokens(ids)
        cos, sin = decoder.rotary_emb(x[:, None], positions[:, None])
        rotary = cos, _signed(sin)
        bias = None if padding is None else _bias(padding, x.dtype)
        for number, layer in enumerate(self._layers):
            attend_prompts = None if prompts is None else partial(prompts.attend, number)
            x = layer.attend(x, rotary, bias, cache.layers[number], attend_prompts)
            x = layer.mlp(x)
        logits: Tensor = self._head(_norm(decoder.norm, x))
        return logits


def fast_step(model: PreTrainedModel) -> DecodeStep | None:
    small = sum(weight.nbytes for weight in model.parameters()) <= COPIED_BYTES
    return _fast_step(model, fastest_product if small else Product)


def _fast_step(model: PreTrainedModel, make: MakeProduct) -> DecodeStep | None:
    try:
        return DecodeStep(model, make)
    except UnsupportedLayer:
        return None


class UnsupportedLayer(Exception):
    pass


class _Layer:
    def __init__(self, layer: Any, make: MakeProduct) -> None:
        attention, mlp = layer.self_attn, layer.mlp
        self._attention_norm, self._mlp_norm = layer.input_layernorm, layer.post_attention_layernorm
        self._project = _JoinedLinear((attention.q_proj, attention.k_proj, attention.v_proj), make)
        self._out = _product(attention.o_proj, make)
        self._gate_up = _JoinedLinear((mlp.gate_proj, mlp.up_proj), make)
        self._down, self._act = _product(mlp.down_proj, make), mlp.act_fn
        self._size, self._scaling = attention.head_dim, attention.scaling
        self._query_heads, self._key_heads, _ = (rows // self._size for rows in self._project.parts)
        self._eps = 0.0
        self._head_norms: Tensor | None = None
        if hasattr(attention, "q_norm"):
            weights = attention.q_norm.weight, attention.k_norm.weight
            counts = self._query_heads, self._key_heads
            self._eps = attention.q_norm.variance_epsilon
            self._head_norms = torch.cat([w.expand(n, -1) for w, n in zip(weights, counts, strict=True)])

    def attend(
        self,
        x: Tensor,
        rotary: tuple[Tensor, Tensor],
        bias: Tensor | None,
        cache: RoomyLayer,
        attend_prompts: Callable[[Tensor], tuple[Tensor, Tensor]] | None,
    ) -> Tensor:
        rows, size, heads = len(x), self._size, self._query_heads
        projected = self._project(_norm(self._attention_norm, x)).view(rows, -1, size)
        query_key = projected[:, : heads + self._key_heads]
        if self._head_norms is not None:
            query_key = _scaled(query_key, self._eps).mul_(self._head_norms)
        query_key = _rotate(query_key, rotary)
        keys, values = cache.update(
            query_key[:, heads:].unsqueeze(2), projected[:, heads + self._key_heads :].unsqueeze(2)
        )
        query = query_key[:, :heads] * self._scaling
        # Query heads that share a key head are the rows of one product.
        grouped = query.view(rows * self._key_heads, -1, size)
        scores = torch.bmm(grouped, keys.flatten(0, 1).mT)
        if bias is not None:
            scores.view(rows, -1, keys.shape[2]).add_(bias)
        output = torch.bmm(scores.softmax(-1), values.flatten(0, 1)).view(rows, -1, size)
        if attend_prompts is not None:
            output = combine_attention(output, scores.logsumexp(-1).view(rows, -1), *attend_prompts(query))
        return self._out(output.view(rows, -1)).add_(x)

    def mlp(self, x: Tensor) -> Tensor:
        gate, up = torch.split(self._gate_up(_norm(self._mlp_norm, x)), self._gate_up.parts, dim=-1)
        return self._down(self._act(gate).mul_(up)).add_(x)


class _JoinedLinear:
    def __init__(self, modules: Sequence[Any], make: MakeProduct) -> None:
        layers = [_dense(module) for module in modules]
        self.parts = [len(layer.weight) for layer in layers]
        if not all(hasattr(layer, "set_weight") for layer in layers):
            self._products = [make(layer.weight, layer.bias) for layer in layers]
            return
        weight = torch.cat([layer.weight for layer in layers])
        biases = [
            layer.weight.new_zeros(len(layer.weight)) if layer.bias is None else layer.bias
            for layer in layers
        ]
        plain = all(layer.bias is None for layer in layers)
        self._products = [make(weight, None if plain else torch.cat(biases))]
        for layer, view in zip(layers, torch.split(weight, self.parts), strict=True):
            layer.set_weight(view)

    def __call__(self, x: Tensor) -> Tensor:
        outputs = [product(x) for product in self._products]
        return outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=-1)


def _product(module: Any, make: MakeProduct) -> Product:
    layer = _dense(module)
    return make(layer.weight, layer.bias)


def _dense(module: Any) -> Any:
    if getattr(module, "disable_adapters", False):
        module = module.base_layer
    if type(module) is torch.nn.Linear or hasattr(module, "set_weight"):
        return module
    raise UnsupportedLayer(type(module).__name__)


def supports_decode_step(model: PreTrainedModel) -> bool:
    """Whether decode step and model compute equal logits. Runs both: a model may compute more than its
    modules show.
    """
    if model.dtype not in (torch.float32, torch.float64) or not _has_parts(model):
        return False
    step, size = _fast_step(model, Product), model.config.get_text_config().vocab_size
    if step is None:
        return False
    padding = torch.ones((2, 5), dtype=torch.int64, device=model.device)
    padding[1, :2] = 0
    ids = (torch.arange(10, device=model.device).view(2, 5) * 7 + 3) % size
    positions = (padding.cumsum(1) - 1).clamp(min=0)
    with torch.inference_mode():
        expected_logits = model(
            input_ids=ids, attention_mask=padding, position_ids=positions, use_cache=False
        ).logits
        cache = roomy_cache(model)
        model(
            input_ids=ids[:, :3],
            attention_mask=padding[:, :3],
            position_ids=positions[:, :3],
            past_key_values=cache,
            use_cache=True,
        )
        for column in (3, 4):
            step_logits = step(ids[:, column], positions[:, column], padding[:, : column + 1], cache)
            expected = expected_logits[:, column]
            if not bool((step_logits - expected).abs().max() <= _TOLERANCE * expected.abs().max()):
                return False
    return True


def _has_parts(model: PreTrainedModel) -> bool:
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
    scaled: Tensor = _scaled(x, norm.variance_epsilon).mul_(norm.weight)
    return scaled


def _scaled(x: Tensor, eps: float) -> Tensor:
    square: Tensor = torch.linalg.vecdot(x, x)
    return x * square.div_(x.shape[-1]).add_(eps).rsqrt_().unsqueeze(-1)


def _rotate(x: Tensor, rotary: tuple[Tensor, Tensor]) -> Tensor:
    cos, signed = rotary
    return torch.addcmul(x * cos, x.roll(x.shape[-1] // 2, -1), signed)


def _signed(sin: Tensor) -> Tensor:
    half = sin.shape[-1] // 2
    return torch.cat([-sin[..., :half], sin[..., half:]], dim=-1)


def _bias(padding: Tensor, dtype: torch.dtype) -> Tensor:
    zeros = torch.zeros(padding.shape, dtype=dtype, device=padding.device)
    return zeros.masked_fill_(padding == 0, -torch.inf).unsqueeze(1)
