"""Converts prompts and completions between text and token ids, in a child process without torch."""

import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

from reinforge.errors import InvalidInput
from worker.isolated.process import Work, serve
from worker.models.rendering import ChatRenderer
from worker.models.token_bytes import token_entries


def describe(folder: Path, _: dict[str, Any]) -> dict[str, Any]:
    """{takes_tools, end_id}. Raises InvalidInput `model_load_failed`."""
    return {"takes_tools": _renderer(folder).takes_tools, "end_id": _tokenizer(folder).eos_token_id}


def prompts(folder: Path, payload: dict[str, Any]) -> dict[str, Any]:
    """{conversations: [[messages, tools]], max_tokens} → {prompts: [[text, ids, tokens, refusal]]}."""
    conversations = _renderer(folder).render(payload["conversations"], payload["max_tokens"])
    return {"prompts": [[row.text, row.token_ids, row.tokens, row.refusal] for row in conversations]}


def plain_ids(folder: Path, payload: dict[str, Any]) -> dict[str, Any]:
    """{text} → {ids}."""
    return {"ids": _renderer(folder).plain_ids(payload["text"])}


def decoded(folder: Path, payload: dict[str, Any]) -> dict[str, Any]:
    """{ids: [ids of each text], skip_special_tokens} → {texts}."""
    tokenizer, skip = _tokenizer(folder), payload["skip_special_tokens"]
    return {"texts": [tokenizer.decode(ids, skip_special_tokens=skip) for ids in payload["ids"]]}


def entries(folder: Path, payload: dict[str, Any]) -> dict[str, Any]:
    """{ids} → {entries: [[text, bytes or None]]}."""
    return {"entries": list(token_entries(_tokenizer(folder), payload["ids"]))}


def grammar_tokens(folder: Path, payload: dict[str, Any]) -> dict[str, Any]:
    """{vocabulary, end_ids} → {tokens: hexadecimal bytes of every id, special: ids}. Raises InvalidInput
    `unsupported`.
    """
    tokens = _grammar_tokenizer(folder, payload["vocabulary"], tuple(payload["end_ids"]))
    ids = range(tokens.vocab_size)
    return {
        "tokens": [tokens.decode_bytes([id]).hex() for id in ids],
        "special": [id for id in ids if tokens.is_special_token(id)],
    }


def tokenized(folder: Path, payload: dict[str, Any]) -> dict[str, Any]:
    """{vocabulary, end_ids, text} → {ids}, as llguidance tokenizes."""
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
            f"The model's tokenizer cannot be held to a form: {error}.",
            code="unsupported",
            hint="Ask for the form in the messages, and check it in the reward.",
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
        "decode": decoded,
        "entries": entries,
        "grammar_tokens": grammar_tokens,
        "tokenize": tokenized,
    }


if __name__ == "__main__":
    serve(_work)
