"""Forward passes of a decode batch over a KV cache."""

from collections.abc import Sequence

import torch
from torch import Tensor
from transformers import PreTrainedModel

from worker.rollout.kv_cache import roomy_cache


class Decoder:
    def __init__(self, model: PreTrainedModel) -> None:
        self._model = model
        self._cache = roomy_cache(model)
        self._mask: Tensor | None = None
        self._positions = torch.zeros(0, dtype=torch.int64)

    def prefill(self, prompts: Sequence[Sequence[int]], prompt_of: Tensor) -> Tensor:
        """Logits (R rows, V tokens) after each row's prompt. prompt_of: prompt of each row,
        (R,) int64, ascending.
        """
        device = self._model.device
        lengths = torch.tensor([len(prompt) for prompt in prompts])
        longest = int(lengths.max())
        padded = torch.zeros((len(prompts), longest), dtype=torch.int64)
        for line, prompt in enumerate(prompts):
            padded[line, longest - len(prompt) :] = torch.tensor(prompt)
        columns = torch.arange(longest)[None, :]
        starts = (longest - lengths)[:, None]
        if int(lengths.min()) < longest:
            self._mask = (columns >= starts).long().to(device)
        positions = (columns - starts).clamp(min=0)
        logits = self._forward(padded.to(device), positions.to(device))
        prompt_of = prompt_of.to(device)
        self._prompts_to_rows(prompt_of, len(prompts), longest)
        self._positions = lengths.to(device)[prompt_of]
        return logits[prompt_of]

    def step(self, tokens: Tensor) -> Tensor:
        if self._mask is not None:
            self._mask = torch.cat([self._mask, self._mask.new_ones((len(tokens), 1))], dim=1)
        logits = self._next(tokens)
        self._positions = self._positions + 1
        return logits

    def keep(self, rows: Tensor) -> None:
        """Keep only the rows with indices `rows`: (K,) int64, ascending."""
        self._cache.batch_select_indices(rows)
        self._positions = self._positions[rows]
        self._mask = None if self._mask is None else self._mask[rows]

    def _prompts_to_rows(self, prompt_of: Tensor, prompts: int, longest: int) -> None:
        self._cache.batch_select_indices(prompt_of)
        self._mask = None if self._mask is None else self._mask[prompt_of]

    def _next(self, tokens: Tensor) -> Tensor:
        return self._forward(tokens[:, None], self._positions[:, None])

    def _forward(self, ids: Tensor, positions: Tensor) -> Tensor:
        output = self._model(
            input_ids=ids,
            attention_mask=self._mask,
            position_ids=positions,
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
        )
        logits: Tensor = output.logits[:, -1]
        return logits
