"""Shortens the results of tools to a maximum number of tokens."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from worker.models.chat import renderer

Ids = Sequence[int]


def shortened_result(
    text: str, most: int, encode: Callable[[str], Ids], decode: Callable[[list[Ids]], Sequence[str]]
) -> tuple[str, bool]:
    """The text, with its middle cut out if it has more than `most` tokens; and whether it was cut."""
    if not needs_tokens(text, most):
        return text, False
    ids = encode(text)
    if len(ids) <= most:
        return text, False
    head, tail = decode([ids[: most // 2], ids[len(ids) - most // 2 :]])
    return f"{head}\n[{len(ids) - 2 * (most // 2)} tokens left out]\n{tail}", True


def needs_tokens(text: str, most: int) -> bool:
    """Whether the text has more than `most` bytes, and so may have more than `most` tokens."""
    return len(text.encode()) > most


def shorten(folder: Path, payload: dict[str, Any]) -> dict[str, Any]:
    """Shorten texts in a child process: {texts, most} → {texts: [[text, whether it was cut]]}."""
    prompts = renderer(folder)

    def decode(rows: list[Ids]) -> list[str]:
        return [prompts.decode(row) for row in rows]

    one = partial(shortened_result, most=payload["most"], encode=prompts.encode, decode=decode)
    return {"texts": [one(text) for text in payload["texts"]]}
