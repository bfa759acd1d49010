"""Beginnings of a prompt and of its reference answer, to show in lists."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from reinforge.dataset.items import ANSWER

PROMPT_CHARACTERS = 1000
ANSWER_CHARACTERS = 500


def prompt_head(messages: Sequence[Mapping[str, Any]], rendered: str = "") -> str:
    content = messages[-1].get("content") if messages else None
    return _storable(content if isinstance(content, str) and content else rendered, PROMPT_CHARACTERS)


def answer_head(item: Mapping[str, Any]) -> str | None:
    answer = item.get(ANSWER)
    if answer is None:
        return None
    text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False, default=str)
    return _storable(text, ANSWER_CHARACTERS)


def _storable(text: str, most: int) -> str:
    """Beginning of a text, without NUL and lone surrogates, which the database refuses."""
    text = text if len(text) <= most else text[: most - 1] + "…"
    return text.replace("\0", "\ufffd").encode(errors="replace").decode()
