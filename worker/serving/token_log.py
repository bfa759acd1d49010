"""Log-probabilities and alternatives as in OpenAI's `logprobs.content`: the sampler's own, before
top-p, end token included.
"""

import re
from functools import cache
from typing import Any

import torch

from worker.rollout.decoding import DecodeBatch

IMPOSSIBLE = -9999.0
"""Stands for minus infinity, which JSON lacks."""
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")

Entry = dict[str, Any]


class TokenTexts:
    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._specials = set(tokenizer.all_special_ids)
        decoder = getattr(getattr(tokenizer, "backend_tokenizer", None), "decoder", None)
        self._byte_level = decoder is not None and b"ByteLevel" in decoder.__getstate__()
        self._entries: dict[int, Entry] = {}

    def entry(self, token: int) -> Entry:
        """`{token, bytes}`; bytes is None for tokens that stand for no text."""
        if token not in self._entries:
            raw = self._tokenizer.convert_ids_to_tokens(token)
            content = None if raw is None or token in self._specials else self._bytes(raw)
            text = (raw or "") if content is None else content.decode(errors="replace")
            self._entries[token] = {"token": text, "bytes": None if content is None else list(content)}
        return dict(self._entries[token])

    def _bytes(self, raw: str) -> bytes:
        if self._byte_level:
            table = _byte_of_character()
            if all(character in table for character in raw):
                return bytes(table[character] for character in raw)
        if match := _BYTE.fullmatch(raw):
            return bytes([int(match[1], 16)])
        return raw.replace("\u2581", " ").encode()


class TokenLog:
    """Alternatives of one batch. Call `look` before every `advance`."""

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
        return [
            self._entry(tokens[place], logprobs[place])
            | {
                "top_logprobs": [
                    self._entry(*token) for token in (self._likeliest[row][place] if self._top else [])
                ]
            }
            for place in range(start, len(tokens))
        ]

    def _entry(self, token: int, logprob: float) -> Entry:
        return {**self._texts.entry(token), "logprob": max(logprob, IMPOSSIBLE)}


@cache
def _byte_of_character() -> dict[str, int]:
    """Byte-level tokenizers' alphabet: printable bytes are themselves, others U+0100 and up."""
    plain = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + place): byte for place, byte in enumerate(others)}
