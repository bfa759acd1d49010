"""Key-value cache whose spare capacity avoids a copy per token."""

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer

SPARE_TOKENS = 64


def roomy_cache(model: PreTrainedModel) -> DynamicCache:
    cache = DynamicCache(config=model.config)
    cache.layers = [RoomyLayer() if type(layer) is DynamicLayer else layer for layer in cache.layers]
    return cache


class RoomyLayer(DynamicLayer):  # type: ignore[misc]
    """Cache layer whose `keys` and `values` are views of buffers (rows, heads, capacity, head size)."""

    keys: Tensor
    values: Tensor
    _all_keys: Tensor | None = None
    _all_values: Tensor | None = None

    def update(
        self, key_states: Tensor, value_states: Tensor, *_: object, **__: object
    ) -> tuple[Tensor, Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        before = self.get_seq_length()
        length = before + key_states.shape[-2]
        if self._all_keys is None or self._all_values is None or length > self._all_keys.shape[-2]:
            capacity = length + max(SPARE_TOKENS, length // 4)
            self._all_keys = _grown(self.keys, key_states, before, capacity)
            self._all_values = _grown(self.values, value_states, before, capacity)
        self._all_keys[:, :, before:length] = key_states
        self._all_values[:, :, before:length] = value_states
        self.keys, self.values = self._all_keys[:, :, :length], self._all_values[:, :, :length]
        return self.keys, self.values

    def batch_select_indices(self, indices: Tensor) -> None:
        super().batch_select_indices(indices)
        self._all_keys = self._all_values = None

    def reset(self) -> None:
        super().reset()
        self._all_keys = self._all_values = None


def _grown(states: Tensor, like: Tensor, length: int, capacity: int) -> Tensor:
    rows, heads, _, size = like.shape
    larger = torch.empty((rows, heads, capacity, size), dtype=like.dtype, device=like.device)
    if length:
        larger[:, :, :length] = states
    return larger
