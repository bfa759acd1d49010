"""Token ids back to text, as rewards and people read it."""

from collections.abc import Sequence
from typing import Any

_INCOMPLETE = "�"
_LONGEST_CHARACTER = 4
"""Tokens: one per UTF-8 byte."""


class Text:
    """Decoding with a tokenizer; pieces are remembered, since a step decodes the same few thousand ids again."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._pieces: dict[int, str] = {}

    def completion(self, token_ids: Sequence[int]) -> str:
        """Without special tokens."""
        text: str = self._tokenizer.decode(list(token_ids), skip_special_tokens=True)
        return text

    def pieces(self, token_ids: Sequence[int]) -> list[str]:
        """One string per token, special tokens included. A character made of several tokens stands at its last."""
        out = [self._piece(token) for token in token_ids]
        for place, piece in enumerate(out):
            if _INCOMPLETE not in piece:
                continue
            for size in range(2, min(_LONGEST_CHARACTER, place + 1) + 1):
                start = place + 1 - size
                whole = self._decode(token_ids[start : place + 1])
                if _INCOMPLETE not in whole:
                    out[start : place + 1] = [""] * (size - 1) + [whole]
                    break
        return out

    def _piece(self, token: int) -> str:
        if token not in self._pieces:
            self._pieces[token] = self._decode([token])
        return self._pieces[token]

    def _decode(self, token_ids: Sequence[int]) -> str:
        text: str = self._tokenizer.decode(list(token_ids), skip_special_tokens=False)
        return text
