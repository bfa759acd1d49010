"""Checks that a model's chat template can continue conversations with tools."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from worker.models.chat import PromptRenderer, renderer
from worker.models.continuation import TemplateContinuation, choose_notation
from worker.models.tokenizer_files import special_tokens, stop_ids


def prove_continuation(folder: Path, payload: dict[str, Any]) -> dict[str, Any]:
    """Check that a template can continue conversations: {tools, reply} → fields of `ContinuationProof`.
    Raises InvalidInput `template_not_continuable`.
    """
    return asdict(folder_continuation(folder, payload["tools"]).prove(reply=payload["reply"]))


def folder_continuation(folder: Path, tools: list[dict[str, Any]]) -> TemplateContinuation:
    prompts = renderer(folder)
    return TemplateContinuation(prompts.conversation_text, prompts.encode, _ends(folder, prompts), tools)


def notation_of(folder: Path) -> str:
    """Notation in which the template writes tool calls. Raises InvalidInput `template_not_continuable`."""
    return choose_notation(renderer(folder).conversation_text)


def _ends(folder: Path, prompts: PromptRenderer) -> dict[int, str]:
    ids = stop_ids(folder)
    if (end := special_tokens(folder).get("eos_token")) is not None:
        ids += prompts.encode(end)[:1]
    return {id: prompts.decode([id]) for id in ids}
