"""A model's chat template and tokenizer in a limited child process."""

from collections.abc import Sequence

from worker.isolated.process import batches
from worker.models.rendering import Conversation, Rendered
from worker.rollout.folder_text import FolderText


class ModelTexts(FolderText):
    """`Renderer` and `Text` of the model in a folder."""

    def render(self, conversations: Sequence[Conversation], max_tokens: int) -> list[Rendered]:
        made: list[Rendered] = []
        for part in batches(conversations):
            answer = self._ask("prompts", {"conversations": part, "max_tokens": max_tokens})
            made += [Rendered(text, tuple(ids), count, why) for text, ids, count, why in answer["prompts"]]
        return made

    def plain_ids(self, text: str) -> tuple[int, ...]:
        return tuple(self._ask("plain_ids", {"text": text})["ids"])
