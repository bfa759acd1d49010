"""Constrained decoding to a JSON Schema by llguidance.

Its fuel bounds time and memory of compilation and tokens. References to other documents are not
followed.
"""

import json
from typing import Any

import numpy as np
import torch

from reinforge.errors import InvalidInput
from worker.policy.load import LoadedModel
from worker.rollout.decoding import DecodeBatch

SPACE = r"[ \n]{0,20}"
"""Unbounded, a model may write spaces until its tokens run out."""
_PARAM = "response_format"


class Grammar:
    """A compiled schema. Raises InvalidInput `unsupported`, `invalid_schema`."""

    def __init__(self, schema: dict[str, Any], base: LoadedModel) -> None:
        try:
            import llguidance
            import llguidance.hf
        except ImportError as error:
            raise _unsupported(
                "This worker has no llguidance.", "Install the platform's extra [train] there."
            ) from error
        width = base.model.config.get_text_config().vocab_size
        try:
            tokens = llguidance.hf.from_tokenizer(
                base.tokenizer, n_vocab=max(width, len(base.tokenizer)), eos_token=list(base.stop_ids)
            )
        except ValueError as error:
            raise _unsupported(
                f"The model's tokenizer cannot be held to a form: {error}.",
                "Ask for the form in the messages, and check it in the reward.",
            ) from error
        try:
            text = llguidance.LLMatcher.grammar_from_json_schema(
                json.dumps(schema), defaults={"whitespace_pattern": SPACE}
            )
            limits = llguidance.LLParserLimits(
                max_grammar_size=100_000,
                initial_lexer_fuel=1_000_000,
                step_lexer_fuel=200_000,
                step_max_items=50_000,
                max_lexer_states=50_000,
            )
            self._matcher = llguidance.LLMatcher(tokens, text, log_level=0, limits=limits)
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
        """Call before `advance`: sets the probability of forbidden tokens to zero. Raises InvalidInput."""
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


def _unsupported(message: str, hint: str) -> InvalidInput:
    return InvalidInput(message, code="unsupported", hint=hint, param=_PARAM)


def _invalid(why: str) -> InvalidInput:
    return InvalidInput(
        f"The schema cannot be followed while sampling: {why.strip().splitlines()[0][:300] if why.strip() else '?'}",
        code="invalid_schema",
        hint="Take what is named out of the schema, or make it smaller; the model can still be asked for the rest.",
        param=_PARAM,
    )
