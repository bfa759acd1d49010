"""Rendering and tokenization with transformers, for training."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from jinja2 import TemplateError

from reinforge.tool_calls import prepared
from worker.models.chat import has_place_for_tools

Conversation = tuple[list[dict[str, Any]], list[dict[str, Any]] | None]


@dataclass(frozen=True, slots=True)
class Rendered:
    text: str
    token_ids: tuple[int, ...]
    tokens: int
    refusal: str | None = None


class Renderer(Protocol):
    takes_tools: bool

    def render(self, conversations: Sequence[Conversation], max_tokens: int) -> list[Rendered]: ...

    def plain_ids(self, text: str) -> tuple[int, ...]: ...


class ChatRenderer:
    """Renders by the tokenizer's chat template; without one, joins the messages' contents by blank lines."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self.has_template = bool(tokenizer.chat_template)
        self.takes_tools = _takes_tools(tokenizer.chat_template)

    def render(self, conversations: Sequence[Conversation], max_tokens: int) -> list[Rendered]:
        return [self._rendered(messages, tools, max_tokens) for messages, tools in conversations]

    def conversation_text(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None, generation: bool
    ) -> str:
        """Text of a conversation. generation: whether to add the beginning of the assistant's turn. May raise
        anything.
        """
        return self._text(messages, tools, generation=generation)

    def plain_ids(self, text: str) -> tuple[int, ...]:
        return tuple(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def _rendered(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None, max_tokens: int
    ) -> Rendered:
        try:
            text = self._text(messages, tools)
        except Exception as error:  # noqa: BLE001 - a template is a program of the model's author
            return Rendered("", (), 0, f"the chat template refuses it: {str(error) or type(error).__name__}")
        # A template writes its own special tokens; adding others would double the first.
        ids = tuple(self._tokenizer(text, add_special_tokens=not self.has_template)["input_ids"])
        if not ids:
            return Rendered("", (), 0, "the tokenizer returns no tokens for it")
        return Rendered(text, ids, len(ids)) if len(ids) <= max_tokens else Rendered("", (), len(ids))

    def _text(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None, *, generation: bool = True
    ) -> str:
        if not self.has_template:
            return "\n\n".join(message["content"] for message in messages)
        options: dict[str, Any] = {"tokenize": False, "add_generation_prompt": generation}
        if tools and self.takes_tools:
            messages, options["tools"] = prepared(messages), tools
        text: str = self._tokenizer.apply_chat_template(messages, **options)
        return text


def _takes_tools(template: str | dict[str, str] | None) -> bool:
    if isinstance(template, dict):  # several, by name
        template = template.get("tool_use") or template.get("default")
    try:
        return template is not None and has_place_for_tools(template)
    except TemplateError:  # rendering says what is wrong with it
        return False
