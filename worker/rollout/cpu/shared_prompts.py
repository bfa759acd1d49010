"""Keys and values of prompts, stored once for all completions of a prompt."""

from itertools import groupby

import torch
from torch import Tensor
from transformers import DynamicCache

LONG_PROMPT = 64
"""Tokens from which reading a prompt once pays for the second pass of attention over the rest."""


class SharedPrompts:
    """Keys and values of P prompts and which of them each of R rows goes on from; rows of a prompt stand together."""

    def __init__(self, cache: DynamicCache, padding: Tensor | None, prompt_of: Tensor) -> None:
        """cache: after a pass over the prompts. padding: (P, L), 0 on the left of shorter ones, None where there is
        none. prompt_of: (R,) int64, ascending."""
        self._held = [(layer.keys, layer.values) for layer in cache.layers]
        self._padding = padding
        self._prompt_of = prompt_of
        self._place()

    def keep(self, lines: Tensor) -> None:
        """Keep only these rows and their prompts."""
        prompt_of = self._prompt_of[lines]
        used_prompts, self._prompt_of = torch.unique_consecutive(prompt_of, return_inverse=True)
        if len(used_prompts) < len(self._held[0][0]):
            self._held = [(keys[used_prompts], values[used_prompts]) for keys, values in self._held]
            self._padding = None if self._padding is None else self._padding[used_prompts]
        self._place()

    def attend(self, layer: int, query: Tensor) -> tuple[Tensor, Tensor]:
        """What attention of the scaled query (R, heads, D) finds in the prompts alone, (R, heads, D), and the logarithm
        of the sum of its weights, (R, heads)."""
        keys, values = self._held[layer]
        prompts, groups, length, size = keys.shape
        heads = query.shape[1]
        # All rows of a prompt are the rows of one product, with as many for each prompt.
        side = self._spread(query).view(prompts, -1, groups, heads // groups, size).transpose(1, 2)
        weights = torch.bmm(side.reshape(prompts * groups, -1, size), keys.flatten(0, 1).mT)
        if self._bias is not None:
            weights.view(prompts, -1, length).add_(self._bias.to(weights.dtype))
        total = weights.logsumexp(-1)
        attended = torch.bmm(weights.sub_(total.unsqueeze(-1)).exp_(), values.flatten(0, 1))
        return self._gather(attended, prompts, groups, heads), self._gather(
            total.unsqueeze(-1), prompts, groups, heads
        ).squeeze(-1)

    def _place(self) -> None:
        counts = [len(list(rows)) for _, rows in groupby(self._prompt_of.tolist())]
        self._most = max(counts)
        self._slots: Tensor | None = None
        """(R,) int64: of each row among P x most; None where every prompt has as many rows."""
        if min(counts) < self._most:
            slots = [
                prompt * self._most + place for prompt, count in enumerate(counts) for place in range(count)
            ]
            self._slots = torch.tensor(slots, device=self._prompt_of.device)
        self._bias: Tensor | None = None
        if self._padding is not None:
            none = torch.zeros(self._padding.shape, device=self._padding.device)
            self._bias = none.masked_fill_(self._padding == 0, -torch.inf).unsqueeze(1)

    def _spread(self, query: Tensor) -> Tensor:
        """(R, …) → (P x most, …)."""
        if self._slots is None:
            return query
        made = query.new_zeros((len(self._held[0][0]) * self._most, *query.shape[1:]))
        return made.index_copy_(0, self._slots, query)

    def _gather(self, attended: Tensor, prompts: int, groups: int, heads: int) -> Tensor:
        """(P x key heads, most x heads per key head, D) → (R, heads, D)."""
        apart = attended.view(prompts, groups, self._most, heads // groups, -1).transpose(1, 2)
        rows = apart.reshape(prompts * self._most, heads, -1)
        return rows if self._slots is None else rows[self._slots]


def joined(attended: Tensor, total: Tensor, more: Tensor, more_total: Tensor) -> Tensor:
    """Attention (R, heads, D) over two sets of keys, each with its output and the logarithm of its weights'
    sum (R, heads); exact."""
    share = torch.sigmoid(more_total - total).unsqueeze(-1)
    return torch.lerp(attended, more, share)
