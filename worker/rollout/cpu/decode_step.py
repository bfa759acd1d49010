"""Fast decoding step on the CPU: one token per row, for Llama-like models.

A decoding step of a small model is spent on many small operations. Here masks are made once per step, projections of
the same input are one product, queries and keys are turned together, nothing is transposed or repeated for grouped
heads, and attention is two batched products over the cache.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel

from worker.rollout.cpu.kv_cache import RoomyLayer, roomy_cache
from worker.rollout.cpu.matmul import Product, fastest_product
from worker.rollout.cpu.shared_prompts import SharedPrompts, joined

_LAYER = ("self_attn", "mlp", "input_layernorm", "post_attention_layernorm")
_ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj", "head_dim", "scaling")
_MLP = ("gate_proj", "up_proj", "down_proj", "act_fn")
_TOLERANCE = 1e-4
COPIED_BYTES = 2**31
"""A larger model's weights are not copied for faster products."""
MakeProduct = Callable[[Tensor, Tensor | None], Product]
"""Of a weight (O, I) and a bias (O,)."""


class LeanStep:
    """The decoding step of models built as Llama, Mistral, Qwen 2 and Qwen 3 are, in float32 or float64, with the
    weights that their layers have now. Raises NotDense."""

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
        """Logits (R, V) behind token ids (R,) at positions (R,), which are written into the cache.

        padding: (R, columns, these included), 0 where a row has none; None where every row has all. prompts: what comes
        before the cache's first column; None where the cache has all.
        """
        decoder = self._decoder
        x = decoder.embed_tokens(ids)
        cos, sin = decoder.rotary_emb(x[:, None], positions[:, None])
        turn = cos, _signed(sin)
        bias = None if padding is None else _bias(padding, x.dtype)
        for number, layer in enumerate(self._layers):
            behind = None if prompts is None else partial(prompts.attend, number)
            x = layer.attend(x, turn, bias, cache.layers[number], behind)
            x = layer.transform(x)
        logits: Tensor = self._head(_norm(decoder.norm, x))
        return logits


def lean_step(model: PreTrainedModel) -> LeanStep | None:
    """The fast step of the model; None if a layer is not supported."""
    small = sum(weight.nbytes for weight in model.parameters()) <= COPIED_BYTES
    return _lean_step(model, fastest_product if small else Product)


def _lean_step(model: PreTrainedModel, make: MakeProduct) -> LeanStep | None:
    try:
        return LeanStep(model, make)
    except NotDense:
        return None


class NotDense(Exception):
    """A layer is not a plain linear layer, for example because it has an adapter."""


class _Layer:
    """Current weights of a decoder layer."""

    def __init__(self, layer: Any, make: MakeProduct) -> None:
        attention, mlp = layer.self_attn, layer.mlp
        self._into, self._between = layer.input_layernorm, layer.post_attention_layernorm
        self._project = _Joint((attention.q_proj, attention.k_proj, attention.v_proj), make)
        self._out = _product(attention.o_proj, make)
        self._widen = _Joint((mlp.gate_proj, mlp.up_proj), make)
        self._down, self._act = _product(mlp.down_proj, make), mlp.act_fn
        self._size, self._scaling = attention.head_dim, attention.scaling
        self._query_heads, self._key_heads, _ = (rows // self._size for rows in self._project.parts)
        self._eps = 0.0
        self._head_norms: Tensor | None = None
        """(query and key heads, D); None where heads are not normed."""
        if hasattr(attention, "q_norm"):
            weights = attention.q_norm.weight, attention.k_norm.weight
            counts = self._query_heads, self._key_heads
            self._eps = attention.q_norm.variance_epsilon
            self._head_norms = torch.cat([w.expand(n, -1) for w, n in zip(weights, counts, strict=True)])

    def attend(
        self,
        x: Tensor,
        turn: tuple[Tensor, Tensor],
        bias: Tensor | None,
        cache: RoomyLayer,
        behind: Callable[[Tensor], tuple[Tensor, Tensor]] | None,
    ) -> Tensor:
        """x (R, H) → (R, H), over what the cache has, x itself and what `behind` finds."""
        rows, size, heads = len(x), self._size, self._query_heads
        projected = self._project(_norm(self._into, x)).view(rows, -1, size)
        turned = projected[:, : heads + self._key_heads]
        if self._head_norms is not None:
            turned = _scaled(turned, self._eps).mul_(self._head_norms)
        turned = _turned(turned, turn)
        keys, values = cache.update(
            turned[:, heads:].unsqueeze(2), projected[:, heads + self._key_heads :].unsqueeze(2)
        )
        query = turned[:, :heads] * self._scaling
        # The query heads that share a key head stand together: they are the rows of one product.
        grouped = query.view(rows * self._key_heads, -1, size)
        weights = torch.bmm(grouped, keys.flatten(0, 1).mT)
        if bias is not None:
            weights.view(rows, -1, keys.shape[2]).add_(bias)
        attended = torch.bmm(weights.softmax(-1), values.flatten(0, 1)).view(rows, -1, size)
        if behind is not None:
            attended = joined(attended, weights.logsumexp(-1).view(rows, -1), *behind(query))
        return self._out(attended.view(rows, -1)).add_(x)

    def transform(self, x: Tensor) -> Tensor:
        """x (R, H) → (R, H), through the layer's perceptron."""
        gate, up = torch.split(self._widen(_norm(self._between, x)), self._widen.parts, dim=-1)
        return self._down(self._act(gate).mul_(up)).add_(x)


class _Joint:
    """Several linear layers of one input as one product, where all were made for sampling: these keep views of its
    weight, so that nothing is held twice. Others stay products of their own."""

    def __init__(self, modules: Sequence[Any], make: MakeProduct) -> None:
        layers = [_dense(module) for module in modules]
        self.parts = [len(layer.weight) for layer in layers]
        if not all(hasattr(layer, "hold") for layer in layers):
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
            layer.hold(view)

    def __call__(self, x: Tensor) -> Tensor:
        outputs = [product(x) for product in self._products]
        return outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=-1)


def _product(module: Any, make: MakeProduct) -> Product:
    layer = _dense(module)
    return make(layer.weight, layer.bias)


def _dense(module: Any) -> Any:
    """What has the weight (O, I) and the bias (O,) or None that the module computes with. Raises NotDense."""
    if getattr(module, "disable_adapters", False):
        module = module.base_layer
    if type(module) is torch.nn.Linear or hasattr(module, "hold"):
        return module
    raise NotDense(type(module).__name__)


def has_lean_step(model: PreTrainedModel) -> bool:
    """Whether the model is built that way and says what its lean step says: tried, since an architecture may do more
    than its parts show."""
    if model.dtype not in (torch.float32, torch.float64) or not _is_built_so(model):
        return False
    step, size = _lean_step(model, Product), model.config.get_text_config().vocab_size
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
    scaled: Tensor = _scaled(x, norm.variance_epsilon).mul_(norm.weight)
    return scaled


def _scaled(x: Tensor, eps: float) -> Tensor:
    """x over the root of its mean square along the last dimension."""
    square: Tensor = torch.linalg.vecdot(x, x)
    return x * square.div_(x.shape[-1]).add_(eps).rsqrt_().unsqueeze(-1)


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
