"""Renders and tokenizes texts for a grader's checkpoint, in a child process without torch."""

import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

from reinforge.errors import InvalidInput
from worker.isolated.process import Work, serve


def describe(folder: Path, _: dict[str, Any]) -> dict[str, Any]:
    """Return the ids for padding: {pad_id, pad_type_id}. Raises InvalidInput `reward_model_unusable`."""
    tokenizer = _tokenizer(folder)
    return {"pad_id": tokenizer.pad_token_id, "pad_type_id": tokenizer.pad_token_type_id}


def rendered(folder: Path, payload: dict[str, Any]) -> dict[str, Any]:
    """Render conversations: {conversations: [[messages, tools]], generation_prompt} → {texts}."""
    tokenizer, prompt = _tokenizer(folder), payload["generation_prompt"]
    texts = [_text(tokenizer, messages, tools, prompt) for messages, tools in payload["conversations"]]
    return {"texts": texts}


def encoded(folder: Path, payload: dict[str, Any]) -> dict[str, Any]:
    """Tokenize texts: {texts, pairs, max_tokens} → {ids, types}; types is None if the model has none."""
    tokenizer = _tokenizer(folder)
    texts = [
        text or tokenizer.eos_token or " " for text in payload["texts"]
    ]  # models need at least one token
    # The chat template adds special tokens already; adding them again would double the first.
    encoding = tokenizer(texts, payload["pairs"], truncation=True, max_length=payload["max_tokens"])
    return {"ids": encoding["input_ids"], "types": encoding.get("token_type_ids")}


def joined(folder: Path, payload: dict[str, Any]) -> dict[str, Any]:
    """Join and tokenize: {contexts, references, max_tokens} → {rows: [[ids, number of reference tokens]]}."""
    rows = zip(payload["contexts"], payload["references"], strict=True)
    return {"rows": [_joined(_tokenizer(folder), *row, payload["max_tokens"]) for row in rows]}


def _text(
    tokenizer: Any, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None, prompt: bool
) -> str:
    if not tokenizer.chat_template:
        return "\n\n".join(str(message.get("content", "")) for message in messages)
    try:
        text: str = tokenizer.apply_chat_template(
            messages, tools=tools, tokenize=False, add_generation_prompt=prompt
        )
    except Exception as error:  # templates are untrusted programs
        raise _unusable(f"the checkpoint's chat template refuses the conversation: {error}") from error
    return text


def _joined(tokenizer: Any, context: str, reference: str, max_tokens: int) -> tuple[list[int], int]:
    """(ids of the joined texts, number of reference ids). The context's start is cut off to fit."""
    special = not tokenizer.chat_template
    before = tokenizer(context, add_special_tokens=special)["input_ids"]
    before = before or [tokenizer.eos_token_id or 0]
    after = tokenizer(reference, add_special_tokens=False)["input_ids"]
    room = max_tokens - len(after)
    if not after or room < 1:
        raise _unusable(f"a reference answer has {len(after)} tokens, allowed are 1 to {max_tokens - 1}")
    return [*before[-room:], *after], len(after)


@lru_cache(maxsize=1)
def _tokenizer(folder: Path) -> Any:
    sys.modules.setdefault("torch", None)  # type: ignore[arg-type]
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # a stranger's files can fail anywhere in the library, in any way
        lines = str(error).strip().splitlines()
        raise _unusable(f"{folder} cannot be loaded: {lines[0][:500] if lines else repr(error)}") from error
    tokenizer.truncation_side = "left"
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def _unusable(message: str) -> InvalidInput:
    return InvalidInput(message, code="reward_model_unusable", hint="Fix the checkpoint.")


def _work() -> dict[str, Work]:
    return {"describe": describe, "render": rendered, "encode": encoded, "join": joined}


if __name__ == "__main__":
    serve(_work)
