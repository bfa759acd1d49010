"""Tokenizer of a model folder, in a child process with resource limits."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reinforge.errors import InvalidInput, JobFailure
from worker.isolated.process import Apart, batches
from worker.rollout.text import Text

SECONDS = 60.0
MEMORY_BYTES = 4 << 30


class FolderText(Text):
    """`Text` of the model in a folder. Raises JobFailure `model_too_demanding` if the child process fails."""

    takes_tools: bool
    end_id: int | None

    def __init__(self, folder: Path) -> None:
        super().__init__(None)
        self.folder = folder
        self._apart = Apart(
            SECONDS, module="worker.isolated.job_texts", memory_bytes=MEMORY_BYTES, own_session=False
        )

    def load(self) -> int | None:
        facts = self._ask("describe", {})
        self.takes_tools, self.end_id = bool(facts["takes_tools"]), facts["end_id"]
        return self.end_id

    def entries(self, ids: Sequence[int]) -> list[tuple[str, list[int] | None]]:
        return [(text, content) for text, content in self._ask("entries", {"ids": list(ids)})["entries"]]

    def grammar_tokens(self, vocabulary: int, end_ids: Sequence[int]) -> tuple[list[bytes], list[int]]:
        """Bytes of every token, and ids of the special tokens. Raises JobFailure `unsupported` if llguidance
        cannot use them.
        """
        answer = self._ask("grammar_tokens", {"vocabulary": vocabulary, "end_ids": list(end_ids)})
        return [bytes.fromhex(content) for content in answer["tokens"]], answer["special"]

    def grammar_ids(self, vocabulary: int, end_ids: Sequence[int], text: str) -> list[int]:
        payload = {"vocabulary": vocabulary, "end_ids": list(end_ids), "text": text}
        ids: list[int] = self._ask("tokenize", payload)["ids"]
        return ids

    def notation(self) -> str | None:
        """Notation of the model's tool calls; None if it is not supported."""
        notation: str | None = self._ask("notation", {})["notation"]
        return notation

    def prove_continuation(
        self, tools: list[dict[str, Any]], stop_ids: Sequence[int], *, reply: bool
    ) -> dict[str, Any]:
        """Check the template; returns fields of `Continuation`. Raises JobFailure
        `template_not_continuable`.
        """
        return self._ask("continuation", {"tools": tools, "stop_ids": list(stop_ids), "reply": reply})

    def suffixes(
        self,
        tools: list[dict[str, Any]],
        stop_ids: Sequence[int],
        turns: Sequence[tuple[Sequence[dict[str, Any]], int | None]],
    ) -> list[list[int]]:
        """Token ids that follow each turn."""
        ids: list[list[int]] = []
        for batch in batches(turns):
            payload = {"tools": tools, "stop_ids": list(stop_ids), "turns": batch}
            ids += self._ask("suffixes", payload)["ids"]
        return ids

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
