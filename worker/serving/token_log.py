"""Log-probabilities and alternatives in the format of OpenAI's `logprobs.content`, computed before top-p."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from worker.rollout.decoding import DecodeBatch

IMPOSSIBLE = -9999.0
"""Value in place of minus infinity, which JSON lacks."""

Entry = dict[str, Any]


class TokenTexts:
    def __init__(self, entries: Callable[[Sequence[int]], list[tuple[str, list[int] | None]]]) -> None:
        self._request = entries
        self._entries: dict[int, tuple[str, list[int] | None]] = {}

    def load(self, tokens: Sequence[int]) -> None:
        if missing := [token for token in dict.fromkeys(tokens) if token not in self._entries]:
            self._entries.update(zip(missing, self._request(missing), strict=True))

    def entry(self, token: int) -> Entry:
        """`{token, bytes}`; bytes is None for tokens without text."""
        self.load([token])
        text, content = self._entries[token]
        return {"token": text, "bytes": content}


class TokenLog:
    """Log-probabilities and alternatives of a batch. Call `look` before every `advance`."""

    def __init__(self, batch: DecodeBatch, texts: TokenTexts, top: int) -> None:
        self._batch, self._texts, self._top = batch, texts, top
        self._likeliest: list[list[list[tuple[int, float]]]] = [[] for _ in batch.rows]

    def look(self) -> None:
        if not self._top:
            return
        scaled = self._batch.logits.float() / (self._batch.sampling.temperature or 1.0)
        values, ids = torch.log_softmax(scaled, dim=-1).topk(min(self._top, scaled.shape[-1]), dim=-1)
        for row, tokens, logprobs in zip(self._batch.lines, ids.tolist(), values.tolist(), strict=True):
            self._likeliest[row].append(list(zip(tokens, logprobs, strict=True)))

    def entries(self, row: int, start: int) -> list[Entry]:
        tokens, logprobs = self._batch.tokens(row), self._batch.logprobs(row)
        tops = self._likeliest[row] if self._top else [[] for _ in tokens]
        alternatives = [token for top in tops[start : len(tokens)] for token, _ in top]
        self._texts.load([*tokens[start:], *alternatives])
        return [
            self._entry(tokens[place], logprobs[place])
            | {"top_logprobs": [self._entry(*token) for token in tops[place]]}
            for place in range(start, len(tokens))
        ]

    def _entry(self, token: int, logprob: float) -> Entry:
        return {**self._texts.entry(token), "logprob": max(logprob, IMPOSSIBLE)}
