"""Converts prompts and completions between text and token ids, in a child process without torch."""

import json
import sys
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from reinforge.errors import InvalidInput
from worker.isolated.process import Work, serve
from worker.models.continuation import TemplateContinuation, choose_notation
from worker.models.rendering import ChatRenderer
from worker.models.token_bytes import token_entries

_MOST_TEMPLATES = 16
_templates: dict[str, TemplateContinuation] = {}
"""Template continuations, cached by folder, tools and stop ids."""


def describe(folder: Path, _: dict[str, Any]) -> dict[str, Any]:
    """Return the tokenizer's {takes_tools, end_id}. Raises InvalidInput `model_load_failed`."""
    return {"takes_tools": _renderer(folder).takes_tools, "end_id": _tokenizer(folder).eos_token_id}


def prompts(folder: Path, payload: dict[str, Any]) -> dict[str, Any]:
    """Render and tokenize conversations.

    {conversations: [[messages, tools]], max_tokens} → {prompts: [[text, ids, number of tokens, refusal]]}.
    """
    conversations = _renderer(folder).render(payload["conversations"], payload["max_tokens"])
    return {"prompts": [[row.text, row.token_ids, row.tokens, row.refusal] for row in conversations]}


def plain_ids(folder: Path, payload: dict[str, Any]) -> dict[str, Any]:
    """Tokenize without special tokens: {text} → {ids}."""
    return {"ids": _renderer(folder).plain_ids(payload["text"])}


def notation(folder: Path, payload: dict[str, Any]) -> dict[str, Any]:
    """Return how the template writes tool calls: {} → {notation}; None if the notation is not supported."""
    try:
        return {"notation": choose_notation(_renderer(folder).conversation_text)}
    except InvalidInput:
        return {"notation": None}


def continuation(folder: Path, payload: dict[str, Any]) -> dict[str, Any]:
    """Check that the template can continue conversations: {tools, stop_ids, reply} → fields of
    `ContinuationProof`.
    """
    return asdict(_continuation(folder, payload).prove(reply=payload["reply"]))


def suffixes(folder: Path, payload: dict[str, Any]) -> dict[str, Any]:
    """Token ids to append to turns: {tools, stop_ids, turns: [[new messages, id that ended the turn]]} → {ids}."""
    template = _continuation(folder, payload)
    return {"ids": [template.suffix(messages, ended_by) for messages, ended_by in payload["turns"]]}


def _continuation(folder: Path, payload: dict[str, Any]) -> TemplateContinuation:
    key = f"{folder} {json.dumps([payload['tools'], payload['stop_ids']])}"
    if (template := _templates.get(key)) is None:
        if len(_templates) >= _MOST_TEMPLATES:
            _templates.clear()
        renderer, tokenizer = _renderer(folder), _tokenizer(folder)
        ends = {id: tokenizer.decode([id], skip_special_tokens=False) for id in payload["stop_ids"]}
        template = _templates[key] = TemplateContinuation(
            renderer.conversation_text, renderer.plain_ids, ends, payload["tools"]
        )
    return template


def decoded(folder: Path, payload: dict[str, Any]) -> dict[str, Any]:
    """Decode token ids: {ids: [ids of each text], skip_special_tokens} → {texts}."""
    tokenizer, skip = _tokenizer(folder), payload["skip_special_tokens"]
    return {"texts": [tokenizer.decode(ids, skip_special_tokens=skip) for ids in payload["ids"]]}


def entries(folder: Path, payload: dict[str, Any]) -> dict[str, Any]:
    """Texts and bytes of tokens: {ids} → {entries: [[text, bytes or None]]}."""
    return {"entries": list(token_entries(_tokenizer(folder), payload["ids"]))}


def grammar_tokens(folder: Path, payload: dict[str, Any]) -> dict[str, Any]:
    """Vocabulary for llguidance: {vocabulary: its size, end_ids} → {tokens: hexadecimal bytes of every id,
    special: special ids}. Raises InvalidInput `unsupported`.
    """
    tokens = _grammar_tokenizer(folder, payload["vocabulary"], tuple(payload["end_ids"]))
    ids = range(tokens.vocab_size)
    return {
        "tokens": [tokens.decode_bytes([id]).hex() for id in ids],
        "special": [id for id in ids if tokens.is_special_token(id)],
    }


def tokenized(folder: Path, payload: dict[str, Any]) -> dict[str, Any]:
    """Tokenize as llguidance does: {vocabulary, end_ids, text} → {ids}."""
    tokens = _grammar_tokenizer(folder, payload["vocabulary"], tuple(payload["end_ids"]))
    return {"ids": tokens.tokenize_str(payload["text"])}


@lru_cache(maxsize=1)
def _grammar_tokenizer(folder: Path, vocabulary: int, end_ids: tuple[int, ...]) -> Any:
    tokenizer = _tokenizer(folder)
    import llguidance.hf

    try:
        return llguidance.hf.from_tokenizer(
            tokenizer, n_vocab=max(vocabulary, len(tokenizer)), eos_token=list(end_ids)
        )
    except ValueError as error:
        raise InvalidInput(
            f"Constrained decoding does not support the model's tokenizer: {error}.",
            code="unsupported",
            hint="Describe the required format in the messages, and check it in the reward.",
        ) from error


@lru_cache(maxsize=1)
def _renderer(folder: Path) -> ChatRenderer:
    return ChatRenderer(_tokenizer(folder))


@lru_cache(maxsize=1)
def _tokenizer(folder: Path) -> Any:
    sys.modules.setdefault("torch", None)  # type: ignore[arg-type]
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # a stranger's files can fail anywhere in the library, in any way
        lines = str(error).strip().splitlines()
        raise InvalidInput(
            f"The tokenizer in {folder.name} could not be loaded: {lines[0][:500] if lines else repr(error)}",
            code="model_load_failed",
            hint="The folder needs a tokenizer.json that this version of transformers reads.",
        ) from error


def _work() -> dict[str, Work]:
    return {
        "describe": describe,
        "prompts": prompts,
        "plain_ids": plain_ids,
        "notation": notation,
        "continuation": continuation,
        "suffixes": suffixes,
        "decode": decoded,
        "entries": entries,
        "grammar_tokens": grammar_tokens,
        "tokenize": tokenized,
    }


if __name__ == "__main__":
    serve(_work)
