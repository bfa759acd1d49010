"""Decoding of token ids to text."""

from collections.abc import Sequence
from typing import Any

_INCOMPLETE = "�"
_LONGEST_CHARACTER = 4


class Text:
    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._pieces: dict[int, str] = {}

    def completion(self, token_ids: Sequence[int]) -> str:
        return self.completions([token_ids])[0]

    def completions(self, rows: Sequence[Sequence[int]]) -> list[str]:
        return self._decode(rows, skip_special_tokens=True)

    def pieces(self, token_ids: Sequence[int]) -> list[str]:
        """One string per token; a character that spans several tokens belongs to the last."""
        if missing := [token for token in dict.fromkeys(token_ids) if token not in self._pieces]:
            texts = self._decode([[token] for token in missing], skip_special_tokens=False)
            self._pieces.update(zip(missing, texts, strict=True))
        out = [self._pieces[token] for token in token_ids]
        for place, piece in enumerate(out):
            if _INCOMPLETE not in piece:
                continue
            for size in range(2, min(_LONGEST_CHARACTER, place + 1) + 1):
                start = place + 1 - size
                (whole,) = self._decode([token_ids[start : place + 1]], skip_special_tokens=False)
                if _INCOMPLETE not in whole:
                    out[start : place + 1] = [""] * (size - 1) + [whole]
                    break
        return out

    def raw(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Decode token ids, keeping special tokens."""
        return self._decode(rows, skip_special_tokens=False)

    def _decode(self, rows: Sequence[Sequence[int]], *, skip_special_tokens: bool) -> list[str]:
        decode = self._tokenizer.decode
        return [decode(list(ids), skip_special_tokens=skip_special_tokens) for ids in rows]
