"""A model's chat template and tokenizer in a limited child process."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from reinforge.errors import InvalidInput, JobFailure
from worker.isolated.process import Apart, batches
from worker.models.rendering import Conversation, Rendered
from worker.policy.load import LoadedModel, load_base_model
from worker.rollout.text import Text

SECONDS = 60.0
"""Most seconds of a request. Rows take milliseconds; a large tokenizer loads in seconds."""
MEMORY_BYTES = 4 << 30
"""Address space; transformers reads a tokenizer of 260,000 tokens twice."""


class ModelTexts(Text):
    """`Renderer` and `Text` of the model in a folder. Raises JobFailure `model_too_demanding`, or the child's error."""

    takes_tools: bool
    """Available after `load`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(None)
        self.folder = folder
        self._apart = Apart(
            SECONDS, module="worker.isolated.job_texts", memory_bytes=MEMORY_BYTES, own_session=False
        )

    def load(self) -> None:
        """Read the tokenizer; call it first."""
        self.takes_tools = bool(self._ask("describe", {})["takes_tools"])

    def render(self, conversations: Sequence[Conversation], max_tokens: int) -> list[Rendered]:
        made: list[Rendered] = []
        for part in batches(conversations):
            answer = self._ask("prompts", {"conversations": part, "max_tokens": max_tokens})
            made += [Rendered(text, tuple(ids), count, why) for text, ids, count, why in answer["prompts"]]
        return made

    def plain_ids(self, text: str) -> tuple[int, ...]:
        return tuple(self._ask("plain_ids", {"text": text})["ids"])

    def close(self) -> None:
        self._apart.close()

    def _decode(self, rows: Sequence[Sequence[int]], *, skip_special_tokens: bool) -> list[str]:
        payload = {"ids": [list(ids) for ids in rows], "skip_special_tokens": skip_special_tokens}
        texts: list[str] = self._ask("decode", payload)["texts"]
        return texts

    def _ask(self, work: str, payload: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._apart.ask_twice(work, self.folder, payload)
        except InvalidInput as error:
            raise JobFailure(error.message, code=error.code, hint=error.hint) from error


def load_with_texts(folder: Path) -> tuple[LoadedModel, ModelTexts]:
    """Raises JobFailure like `load_base_model` and `ModelTexts.load`."""
    texts = ModelTexts(folder)
    with ThreadPoolExecutor(1) as reading:  # its process starts while the weights are read
        return load_base_model(folder, reading.submit(texts.load).result), texts
