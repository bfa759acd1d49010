"""Attention to prompts that are stored once for all their rows."""

from itertools import groupby

import torch
from torch import Tensor
from transformers import DynamicCache


class SharedPrompts:
    """Keys and values of P prompts, stored once for their R rows."""

    def __init__(self, cache: DynamicCache, padding: Tensor | None, prompt_of: Tensor) -> None:
        """cache: of the prompts. padding: (P, tokens), 0 on the left. prompt_of: prompt of each row, (R,)
        int64, ascending.
        """
        self._layers = [(layer.keys, layer.values) for layer in cache.layers]
        self._padding = padding
        self._prompt_of = prompt_of
        self._index_rows()

    def keep(self, rows: Tensor) -> None:
        prompt_of = self._prompt_of[rows]
        used_prompts, self._prompt_of = torch.unique_consecutive(prompt_of, return_inverse=True)
        if len(used_prompts) < len(self._layers[0][0]):
            self._layers = [(keys[used_prompts], values[used_prompts]) for keys, values in self._layers]
            self._padding = None if self._padding is None else self._padding[used_prompts]
        self._index_rows()

    def attend(self, layer: int, query: Tensor) -> tuple[Tensor, Tensor]:
        """Attend to the prompts with a scaled query (R, heads, head size). Returns the output and the
        log-sum-exp of the scores (R, heads).
        """
        keys, values = self._layers[layer]
        prompts, groups, length, size = keys.shape
        heads = query.shape[1]
        # One product per prompt over all its rows; each prompt has as many lines as the one with the most rows.
        lines = self._to_lines(query).view(prompts, -1, groups, heads // groups, size).transpose(1, 2)
        scores = torch.bmm(lines.reshape(prompts * groups, -1, size), keys.flatten(0, 1).mT)
        if self._bias is not None:
            scores.view(prompts, -1, length).add_(self._bias.to(scores.dtype))
        total = scores.logsumexp(-1)
        output = torch.bmm(scores.sub_(total.unsqueeze(-1)).exp_(), values.flatten(0, 1))
        return self._to_rows(output, prompts, groups, heads), self._to_rows(
            total.unsqueeze(-1), prompts, groups, heads
        ).squeeze(-1)

    def _index_rows(self) -> None:
        counts = [len(list(rows)) for _, rows in groupby(self._prompt_of.tolist())]
        self._most_rows = max(counts)
        self._line_of: Tensor | None = None
        """Index (R,) of each row after all prompts are padded to most_rows rows; None if no
        padding is needed.
        """
        if min(counts) < self._most_rows:
            line_of = [
                prompt * self._most_rows + row for prompt, count in enumerate(counts) for row in range(count)
            ]
            self._line_of = torch.tensor(line_of, device=self._prompt_of.device)
        self._bias: Tensor | None = None
        if self._padding is not None:
            zeros = torch.zeros(self._padding.shape, device=self._padding.device)
            self._bias = zeros.masked_fill_(self._padding == 0, -torch.inf).unsqueeze(1)

    def _to_lines(self, query: Tensor) -> Tensor:
        if self._line_of is None:
            return query
        lines = query.new_zeros((len(self._layers[0][0]) * self._most_rows, *query.shape[1:]))
        return lines.index_copy_(0, self._line_of, query)

    def _to_rows(self, output: Tensor, prompts: int, groups: int, heads: int) -> Tensor:
        by_line = output.view(prompts, groups, self._most_rows, heads // groups, -1).transpose(1, 2)
        lines = by_line.reshape(prompts * self._most_rows, heads, -1)
        return lines if self._line_of is None else lines[self._line_of]


def combine_attention(output: Tensor, total: Tensor, more: Tensor, more_total: Tensor) -> Tensor:
    """Combine attention to two sets of keys: outputs (R, heads, head size) and log-sum-exps (R, heads)."""
    share = torch.sigmoid(more_total - total).unsqueeze(-1)
    return torch.lerp(output, more, share)
