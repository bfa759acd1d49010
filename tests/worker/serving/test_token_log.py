"""Tokens as text and bytes, in the three spellings that vocabularies have; what is new is requested at once."""

from collections.abc import Sequence

import pytest
from tokenizers import Tokenizer, decoders, models
from tokenizers.pre_tokenizers import ByteLevel
from transformers import PreTrainedTokenizerFast

from worker.models.token_bytes import token_entries
from worker.serving.token_log import TokenTexts

PIECES = {"<end>": 0, "\u2581one": 1, "<0xE2>": 2, "x": 3}


def texts_of(vocabulary: dict[str, int], decoder: object) -> TokenTexts:
    inner = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    inner.decoder = decoder
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<end>")
    return TokenTexts(lambda ids: list(token_entries(tokenizer, ids)))


def test_sentence_pieces_and_bytes_they_fall_back_on() -> None:
    texts = texts_of(PIECES, decoders.Metaspace())
    assert texts.entry(1) == {"token": " one", "bytes": list(b" one")}
    assert texts.entry(2) == {"token": "\ufffd", "bytes": [0xE2]}
    assert texts.entry(0) == {"token": "<end>", "bytes": None}


@pytest.mark.parametrize("text", [" é", "\n", "€uro"])
def test_byte_level_pieces(text: str) -> None:
    [(piece, _)] = ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(text)
    texts = texts_of({"<end>": 0, piece: 1}, decoders.ByteLevel())
    assert texts.entry(1) == {"token": text, "bytes": list(text.encode())}


def test_a_part_of_a_character_keeps_its_bytes() -> None:
    texts = texts_of({"<end>": 0, "â": 1}, decoders.ByteLevel())  # 0xE2 in that alphabet
    assert texts.entry(1) == {"token": "\ufffd", "bytes": [0xE2]}


def test_new_tokens_are_requested_together_and_once() -> None:
    requests: list[list[int]] = []

    def entries(ids: Sequence[int]) -> list[tuple[str, list[int] | None]]:
        requests.append(list(ids))
        return [(str(id), [id]) for id in ids]

    texts = TokenTexts(entries)
    texts.load([3, 5, 3])
    texts.load([5, 7])
    assert texts.entry(7) == {"token": "7", "bytes": [7]}
    assert requests == [[3, 5], [7]]
