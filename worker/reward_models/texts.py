"""Runs a checkpoint's chat template and tokenizer in a limited child process: a malicious checkpoint fails
only its own request.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reinforge.errors import InvalidInput
from worker.isolated.process import Apart, batches

SECONDS = 60.0
MEMORY_BYTES = 4 << 30


class TextFailed(Exception):
    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class CheckpointTexts:
    """Renders and tokenizes texts for one checkpoint. Every method raises TextFailed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._apart = Apart(
            SECONDS, module="worker.isolated.grader_texts", memory_bytes=MEMORY_BYTES, own_session=False
        )

    def load(self) -> tuple[int | None, int]:
        answer = self._ask("describe", {})
        return answer["pad_id"], answer["pad_type_id"]

    def render(self, conversations: Sequence[Any], *, generation_prompt: bool) -> list[str]:
        texts: list[str] = []
        for part in batches(conversations):
            payload = {"conversations": part, "generation_prompt": generation_prompt}
            texts += self._ask("render", payload)["texts"]
        return texts

    def encode(
        self, texts: Sequence[str], pairs: Sequence[str] | None, max_tokens: int
    ) -> list[tuple[list[int], list[int] | None]]:
        """(token ids, token types) of each text or pair; the types are None if the model has none."""
        rows: list[tuple[list[int], list[int] | None]] = []
        for part in batches(list(zip(texts, texts if pairs is None else pairs, strict=True))):
            second = None if pairs is None else [pair for _, pair in part]
            payload = {"texts": [text for text, _ in part], "pairs": second, "max_tokens": max_tokens}
            answer = self._ask("encode", payload)
            rows += zip(answer["ids"], answer["types"] or [None] * len(part), strict=True)
        return rows

    def join(
        self, contexts: Sequence[str], references: Sequence[str], max_tokens: int
    ) -> list[tuple[list[int], int]]:
        """(token ids of context and reference, number of the reference's tokens) of each row."""
        rows: list[tuple[list[int], int]] = []
        for part in batches(list(zip(contexts, references, strict=True))):
            payload = {
                "contexts": [context for context, _ in part],
                "references": [reference for _, reference in part],
                "max_tokens": max_tokens,
            }
            rows += [(ids, count) for ids, count in self._ask("join", payload)["rows"]]
        return rows

    def close(self) -> None:
        self._apart.close()

    def _ask(self, work: str, payload: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._apart.ask_twice(work, self._folder, payload)
        except InvalidInput as error:
            demanding = error.code == "model_too_demanding"
            raise TextFailed(error.message, error.code if demanding else "reward_model_unusable") from error
