"""Beginnings of prompts and reference answers, for lists of a job's prompts."""

from collections.abc import Iterable

from reinforge.dataset.prompt_head import answer_head, prompt_head
from reinforge.records import PromptHead
from worker.environment.base import Prompt


class PromptHeads:
    def __init__(self) -> None:
        self._reported: set[tuple[str, int]] = set()

    def new(self, split: str, prompts: Iterable[Prompt]) -> list[PromptHead]:
        heads = []
        for prompt in prompts:
            key = (split, prompt.row_index)
            if key not in self._reported:
                self._reported.add(key)
                heads.append(
                    PromptHead(
                        row_index=prompt.row_index,
                        prompt=prompt_head(prompt.messages, prompt.text),
                        answer=answer_head(prompt.item),
                    )
                )
        return heads
