"""Key-value cache with spare capacity, so that appending a token does not copy the cache."""

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer

ROOM = 64
"""Tokens that a layer has room for beyond those at hand, at least; it grows by a quarter of its length."""


def roomy_cache(model: PreTrainedModel) -> DynamicCache:
    """An empty cache of the model's kinds of layers; those that keep all tokens have room."""
    cache = DynamicCache(config=model.config)
    cache.layers = [RoomyLayer() if type(layer) is DynamicLayer else layer for layer in cache.layers]
    return cache


class RoomyLayer(DynamicLayer):  # type: ignore[misc]
    """`keys` and `values` are views of the front of larger tensors (rows, heads, room, head size)."""

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
            room = length + max(ROOM, length // 4)
            self._all_keys = _moved(self.keys, key_states, before, room)
            self._all_values = _moved(self.values, value_states, before, room)
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


def _moved(held: Tensor, like: Tensor, length: int, room: int) -> Tensor:
    """(rows, heads, room, size), starting with the held states."""
    rows, heads, _, size = like.shape
    made = torch.empty((rows, heads, room, size), dtype=like.dtype, device=like.device)
    if length:
        made[:, :, :length] = held
    return made
