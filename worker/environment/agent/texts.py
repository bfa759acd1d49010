"""Converts model calls to prompt tokens, and sampled tokens to messages in OpenAI's format."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from reinforge.errors import InvalidInput, JobFailure
from reinforge.tool_calls import as_openai, read
from worker.environment.agent.calls import ModelCall
from worker.environment.agent.messages import Message
from worker.environment.continuation import Continuation, TemplateProcess
from worker.models.rendering import Conversation, Rendered

FinishReason = Literal["stop", "length", "tool_calls"]


class CallTextProcess(TemplateProcess, Protocol):
    def render(self, conversations: Sequence[Conversation], max_tokens: int) -> list[Rendered]: ...

    def raw(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Decode token ids, keeping special tokens."""

    def completions(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Decode token ids, dropping special tokens."""

    def notation(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class WrittenAnswer:
    message: dict[str, Any]
    finish_reason: FinishReason


class ModelCallTexts:
    """Methods block, so call them in a thread. They raise InvalidInput if a call's messages cannot be rendered."""

    def __init__(self, process: CallTextProcess, stop_ids: Sequence[int], context: int) -> None:
        self._process = process
        self._stop_ids = tuple(stop_ids)
        self._context = context
        self._continuations: dict[str, Continuation] = {}
        self._notation: str | None = None
        self._notation_is_read = False

    def raw(self, token_ids: Sequence[int]) -> str:
        return self._process.raw([token_ids])[0]

    def text(self, token_ids: Sequence[int]) -> str:
        """Text of a turn, without special tokens."""
        ids = token_ids[:-1] if token_ids and token_ids[-1] in self._stop_ids else token_ids
        return self._process.completions([ids])[0]

    def new_ids(self, call: ModelCall) -> tuple[int, ...]:
        return self._first_ids(call) if call.parent is None else self._suffix(call, call.parent)

    def written(
        self, token_ids: Sequence[int], tools: Sequence[Message] | None, number: str, *, cut: bool
    ) -> WrittenAnswer:
        """Parse an answer into the program's message. number: prefix of tool call ids. cut: whether a limit
        ended the answer.
        """
        schemas = [dict(tool) for tool in tools or ()]
        notation = self._call_notation() if schemas else None
        if notation is None:
            content = self.text(token_ids)
            return WrittenAnswer({"role": "assistant", "content": content}, "length" if cut else "stop")
        (raw,) = self._process.raw([token_ids])
        answer = read(raw, notation, schemas)
        message: dict[str, Any] = {
            "role": "assistant",
            "content": self._without_end(answer.content, token_ids),
        }
        if answer.reasoning:
            message["reasoning_content"] = answer.reasoning
        calls = [call for call in answer.calls if call.name and call.arguments is not None]
        broken = "".join(call.raw for call in answer.calls if not call.name or call.arguments is None)
        if broken:  # a call that cannot be read is text, as OpenAI's format has no place for it
            message["content"] += broken
        if cut or not calls:
            return WrittenAnswer(message, "length" if cut else "stop")
        message["content"] = message["content"] or None
        message["tool_calls"] = [as_openai(call, f"{number}_{place}") for place, call in enumerate(calls)]
        return WrittenAnswer(message, "tool_calls")

    def _without_end(self, content: str, token_ids: Sequence[int]) -> str:
        """Remove the text of the stop token, which parsers of tool calls may leave in the content."""
        if not token_ids or token_ids[-1] not in self._stop_ids:
            return content
        return content.removesuffix(self.raw(token_ids[-1:])).rstrip()

    def _first_ids(self, call: ModelCall) -> tuple[int, ...]:
        messages = [dict(message) for message in call.request.messages]
        tools = [dict(tool) for tool in call.request.tools or ()] or None
        (prompt,) = self._process.render([(messages, tools)], self._context - 1)
        if prompt.refusal is not None:
            raise InvalidInput(
                f"The messages cannot be rendered as a prompt: {prompt.refusal}",
                code="invalid_messages",
                param="messages",
                hint="Send messages that the model's chat template accepts.",
            )
        if prompt.tokens >= self._context:
            raise context_full(prompt.tokens, self._context)
        return prompt.token_ids

    def _suffix(self, call: ModelCall, parent: ModelCall) -> tuple[int, ...]:
        assert parent.answer is not None
        last = parent.answer.token_ids[-1] if parent.answer.token_ids else None
        ended_by = last if last in self._stop_ids else None
        names = _names(parent.answer.message)
        messages = [_as_suffix(message, names) for message in call.new_messages]
        try:
            return self._continuation(call).suffix_ids(messages, ended_by)
        except JobFailure as error:
            raise InvalidInput(error.message, code=error.code, hint=error.hint, param="messages") from error

    def _continuation(self, call: ModelCall) -> Continuation:
        tools = [dict(tool) for tool in call.request.tools or ()]
        key = json.dumps(tools, sort_keys=True)
        if key not in self._continuations:
            self._continuations[key] = Continuation.prove(self._process, tools, self._stop_ids)
        return self._continuations[key]

    def _call_notation(self) -> str | None:
        if not self._notation_is_read:
            self._notation, self._notation_is_read = self._process.notation(), True
        return self._notation


def context_full(tokens: int, context: int) -> InvalidInput:
    return InvalidInput(
        f"The messages are too long: {tokens:,} tokens, but the model's context has {context:,}.",
        code="context_length_exceeded",
        param="messages",
        hint="Send fewer or shorter messages.",
    )


def _names(answer: Message) -> dict[str, str]:
    return {call["id"]: call["function"]["name"] for call in answer.get("tool_calls") or ()}


def _as_suffix(message: Message, names: dict[str, str]) -> dict[str, Any]:
    content = {"role": message["role"], "content": str(message.get("content") or "")}
    if message["role"] != "tool":
        return content
    name = message.get("name") or names.get(str(message.get("tool_call_id")))
    return content | ({"name": name} if name else {})
