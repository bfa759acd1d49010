"""Text and bytes of tokens, decoded from the forms in which vocabularies write them."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def token_entries(tokenizer: Any, ids: Sequence[int]) -> Iterator[tuple[str, list[int] | None]]:
    """(text, bytes) of each token id; bytes is None for special and unknown tokens."""
    specials = set(tokenizer.all_special_ids)
    decoder = getattr(getattr(tokenizer, "backend_tokenizer", None), "decoder", None)
    byte_level = decoder is not None and b"ByteLevel" in decoder.__getstate__()
    for token in ids:
        raw = tokenizer.convert_ids_to_tokens(token)
        content = None if raw is None or token in specials else _bytes(raw, byte_level)
        text = (raw or "") if content is None else content.decode(errors="replace")
        yield text, None if content is None else list(content)


def _bytes(raw: str, byte_level: bool) -> bytes:
    if byte_level:
        table = _byte_of_character()
        if all(character in table for character in raw):
            return bytes(table[character] for character in raw)
    if match := _BYTE.fullmatch(raw):
        return bytes([int(match[1], 16)])
    return raw.replace("\u2581", " ").encode()


@cache
def _byte_of_character() -> dict[str, int]:
    """Byte of each byte-level character: printable bytes are themselves, others U+0100 and up."""
    plain = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + place): byte for place, byte in enumerate(others)}
