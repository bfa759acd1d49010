"""Constrained decoding to a JSON Schema, with llguidance."""

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from reinforge.errors import InvalidInput, JobFailure
from worker.policy.load import LoadedModel
from worker.rollout.decoding import DecodeBatch
from worker.rollout.folder_text import FolderText

SPACE = r"[ \n]{0,20}"
"""Pattern of white space; if unbounded, a model may write spaces until its tokens run out."""
_PARAM = "response_format"


class Grammar:
    def __init__(self, schema: dict[str, Any], base: LoadedModel, text: FolderText) -> None:
        try:
            import llguidance
        except ImportError as error:
            raise _unsupported(
                "This worker has no llguidance.", "Install the platform's extra [train] there."
            ) from error
        width = base.model.config.get_text_config().vocab_size
        try:
            vocabulary, special = text.grammar_tokens(width, base.stop_ids)
        except JobFailure as error:
            if error.code != "unsupported":
                raise
            raise _unsupported(error.message, error.hint or "") from error
        ids = lru_cache(4096)(lambda part: text.grammar_ids(width, base.stop_ids, part))
        tokens = _tokens(vocabulary, special, base.stop_ids, ids)
        try:
            grammar = llguidance.LLMatcher.grammar_from_json_schema(
                json.dumps(schema), defaults={"whitespace_pattern": SPACE}
            )
            limits = llguidance.LLParserLimits(
                max_grammar_size=100_000,
                initial_lexer_fuel=1_000_000,
                step_lexer_fuel=200_000,
                step_max_items=50_000,
                max_lexer_states=50_000,
            )
            self._matcher = llguidance.LLMatcher(tokens, grammar, log_level=0, limits=limits)
        except (ValueError, RecursionError) as error:
            raise _invalid(str(error)) from error
        if self._matcher.is_error():
            raise _invalid(self._matcher.get_error())
        self._width = width

    def rows(self, count: int) -> "GrammarRows":
        return GrammarRows([self._matcher.deep_copy() for _ in range(count)], self._width)


class GrammarRows:
    def __init__(self, matchers: list[Any], width: int) -> None:
        self._matchers, self._width = matchers, width
        self._read = [0] * len(matchers)

    def mask(self, batch: DecodeBatch) -> None:
        """Mask forbidden tokens in the logits; call it before `advance`. Raises InvalidInput if
        llguidance fails.
        """
        logits = batch.logits
        allowed = np.ones((logits.shape[0], self._width), bool)
        for line, row in enumerate(batch.lines):
            if batch.reason(row) is None:
                allowed[line] = self._next(row, batch.tokens(row))
        logits.masked_fill_(~torch.from_numpy(allowed).to(logits.device), float("-inf"))

    def _next(self, row: int, tokens: list[int]) -> np.ndarray[Any, np.dtype[np.bool_]]:
        matcher = self._matchers[row]
        fresh, self._read[row] = tokens[self._read[row] :], len(tokens)
        if fresh:
            matcher.consume_tokens(fresh)
        bits = np.frombuffer(matcher.compute_bitmask(), np.uint8)
        if matcher.is_error():
            raise _invalid(matcher.get_error())
        return np.unpackbits(bits, bitorder="little")[: self._width].astype(bool)


class _Tokenizer:
    def __init__(
        self,
        tokens: list[bytes],
        special: list[int],
        end_ids: tuple[int, ...],
        ids: Callable[[str], list[int]],
    ) -> None:
        self.tokens, self.special_token_ids = tokens, special
        self.eos_token_id, self.bos_token_id = end_ids[0] if end_ids else None, None
        self._ids = ids

    def __call__(self, text: str) -> list[int]:
        if not isinstance(text, str):
            raise TypeError("text only")  # how the wrapper learns it
        return self._ids(text)


def _tokens(
    tokens: list[bytes], special: list[int], end_ids: tuple[int, ...], ids: Callable[[str], list[int]]
) -> Any:
    from llguidance import LLTokenizer, TokenizerWrapper

    wrapper = TokenizerWrapper(_Tokenizer(tokens, special, end_ids, ids))
    try:
        return LLTokenizer(wrapper, n_vocab=len(tokens), eos_token=list(end_ids))
    except (ValueError, OverflowError) as error:
        raise _unsupported(
            f"Constrained decoding does not support the model's tokenizer: {error}.",
            "Ask for the form in the messages, and check it in the reward.",
        ) from error


def _unsupported(message: str, hint: str) -> InvalidInput:
    return InvalidInput(message, code="unsupported", hint=hint, param=_PARAM)


def _invalid(why: str) -> InvalidInput:
    return InvalidInput(
        f"The schema cannot be followed while sampling: {why.strip().splitlines()[0][:300] if why.strip() else '?'}",
        code="invalid_schema",
        hint="Take what is named out of the schema, or make it smaller; the model can still be asked for the rest.",
        param=_PARAM,
    )
