"""Beginnings of prompts and reference answers, for lists of a job's prompts."""

import json
from collections.abc import Iterable

from reinforge.dataset.items import ANSWER
from reinforge.records import ANSWER_CHARACTERS, PROMPT_CHARACTERS, PromptHead
from worker.environment.base import Prompt


class PromptHeads:
    """Prompts that were not reported before, by split."""

    def __init__(self) -> None:
        self._reported: set[tuple[str, int]] = set()

    def new(self, split: str, prompts: Iterable[Prompt]) -> list[PromptHead]:
        heads = []
        for prompt in prompts:
            key = (split, prompt.row_index)
            if key not in self._reported:
                self._reported.add(key)
                heads.append(prompt_head(prompt))
        return heads


def prompt_head(prompt: Prompt) -> PromptHead:
    """The last message that is text, else the rendered prompt."""
    content = prompt.messages[-1].get("content") if prompt.messages else None
    text = content if isinstance(content, str) and content else prompt.text
    answer = prompt.item.get(ANSWER)
    if answer is not None and not isinstance(answer, str):
        answer = json.dumps(answer, ensure_ascii=False, default=str)
    return PromptHead(
        row_index=prompt.row_index,
        prompt=_stored(text, PROMPT_CHARACTERS),
        answer=None if answer is None else _stored(answer, ANSWER_CHARACTERS),
    )


def _stored(text: str, most: int) -> str:
    """Cut, and without what the database refuses: NUL and half a character."""
    text = text if len(text) <= most else text[: most - 1] + "…"
    return text.replace("\0", "\ufffd").encode(errors="replace").decode()
