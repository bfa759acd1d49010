"""Tokenizes prompts for the RPC `sample`, in a child process."""

from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from reinforge.errors import InvalidInput
from reinforge.schemas.rpc.sampling import SamplingPrompts
from worker.models.chat import PromptRenderer, renderer
from worker.models.continuation import choose_notation
from worker.models.inspect import context_length
from worker.models.tokenizer_files import read_json


def sample_prompts(folder: Path, payload: dict[str, Any]) -> dict[str, Any]:
    """Tokenize prompts: `SamplingPrompts` → {prompts: [`SamplePrompt`], notation: of tool calls, or None}.
    Raises InvalidInput.
    """
    request = SamplingPrompts.model_validate(payload)
    chat = renderer(folder)
    context = context_length(read_json(folder / "config.json")) or 2**31
    prompts = []
    for number, messages in enumerate(request.prompts):
        param = f"prompts[{number}]"
        try:
            if request.row_tools is not None and request.row_tools[number]:
                text = chat.render_row(messages, request.row_tools[number])
            else:
                text = _rendered(chat, messages, request.tools)
            ids = chat.encode(text)
        except InvalidInput as error:
            error.param = error.param if error.code == "tools_not_supported" else param
            raise
        if len(ids) >= context:
            raise InvalidInput(
                f"The prompt has {len(ids)} tokens; the model's context of {context} leaves no room for an answer.",
                code="context_overflow",
                hint="Shorten the conversation.",
                param=param,
            )
        prompts.append({"ids": ids, "max_tokens": min(request.max_tokens, context - len(ids))})
    return {"prompts": prompts, "notation": _notation(chat) if request.tools else None}


def _notation(chat: PromptRenderer) -> str | None:
    if (notation := _notations.get(chat)) is None:
        try:
            notation = choose_notation(chat.conversation_text)
        except InvalidInput:
            notation = ""
        _notations[chat] = notation
    return notation or None


_notations: WeakKeyDictionary[PromptRenderer, str] = WeakKeyDictionary()
"""Notations by renderer; "" if not supported."""


def _rendered(chat: PromptRenderer, messages: list[dict[str, Any]], tools: list[Any] | None) -> str:
    """Render a prompt. Developer messages become system messages if the template refuses or omits them."""
    plain = [
        message | {"role": "system"} if message["role"] == "developer" else message for message in messages
    ]
    developer = [message["content"] for message in messages if message["role"] == "developer"]
    try:
        text = chat.render(messages, tools)
    except InvalidInput:
        if not developer:
            raise
        return chat.render(plain, tools)
    return text if all(content.strip() in text for content in developer) else chat.render(plain, tools)
