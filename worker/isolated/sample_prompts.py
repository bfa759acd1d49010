"""Tokenizes prompts of the call `sample`, in a child process (`worker.isolated.process`)."""

from pathlib import Path
from typing import Any

from reinforge.errors import InvalidInput
from worker.models.chat import PromptRenderer, renderer
from worker.models.inspect import context_length
from worker.models.tokenizer_files import read_json


def question(payload: dict[str, Any]) -> dict[str, Any]:
    """The part of a call's payload that `sample_prompts` reads."""
    return {name: payload.get(name) for name in ("prompts", "row_tools", "tools", "max_tokens")}


def sample_prompts(folder: Path, payload: dict[str, Any]) -> dict[str, Any]:
    """{prompts: [`SamplePrompt`]}.

    `tools` are the request's and have to have a place; `row_tools` are each prompt's own, of a dataset's rows.

    Raises InvalidInput `prompt_not_renderable`, `tools_not_supported`, `context_overflow`.
    """
    chat = renderer(folder)
    context = context_length(read_json(folder / "config.json")) or 2**31
    prompts = []
    rows = payload.get("row_tools")
    for number, messages in enumerate(payload["prompts"]):
        param = f"prompts[{number}]"
        try:
            if rows is not None and rows[number]:
                text = chat.render_row(messages, rows[number])
            else:
                text = _rendered(chat, messages, payload.get("tools"))
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
        prompts.append({"ids": ids, "max_tokens": min(int(payload["max_tokens"]), context - len(ids))})
    return {"prompts": prompts}


def _rendered(chat: PromptRenderer, messages: list[dict[str, Any]], tools: list[Any] | None) -> str:
    """As `chat.render`; a developer message that the template refuses or omits is passed as a system message."""
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
