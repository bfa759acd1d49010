"""A model's chat template and tokenizer in a limited child process."""

from collections.abc import Sequence

from worker.isolated.process import batches
from worker.models.rendering import Conversation, Rendered
from worker.rollout.folder_text import FolderText


class ModelTexts(FolderText):
    vocabulary: int | None = None
    """Size of the model's vocabulary; a larger token id makes a row unusable."""

    def render(self, conversations: Sequence[Conversation], max_tokens: int) -> list[Rendered]:
        made: list[Rendered] = []
        for part in batches(conversations):
            answer = self._ask("prompts", {"conversations": part, "max_tokens": max_tokens})
            made += [
                self._within_vocabulary(Rendered(text, tuple(ids), count, why))
                for text, ids, count, why in answer["prompts"]
            ]
        return made

    def plain_ids(self, text: str) -> tuple[int, ...]:
        return tuple(self._ask("plain_ids", {"text": text})["ids"])

    def _within_vocabulary(self, row: Rendered) -> Rendered:
        largest = max(row.token_ids, default=0)
        if self.vocabulary is None or largest < self.vocabulary:
            return row
        return Rendered("", (), 0, f"it has token {largest}, but the model has only {self.vocabulary} tokens")
