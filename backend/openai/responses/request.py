"""Requests of the Responses API as conversations of messages."""

from collections.abc import Sequence
from typing import Any

from backend.openai.chat.request import checked_messages, checked_tools, unsupported
from reinforge.errors import InvalidInput, ReinforgeError
from reinforge.schemas.openai_responses import (
    FunctionTool,
    InputFunctionCall,
    InputFunctionOutput,
    InputItem,
    InputMessage,
    InputPart,
    InputReasoning,
    InputText,
    OtherItem,
    ResponsesRequest,
)

Message = dict[str, Any]

_NOT_STORED = "Responses are not stored: send the whole conversation as input."
_REFUSED = {
    "previous_response_id": _NOT_STORED,
    "conversation": _NOT_STORED,
    "prompt": "Prompts are not stored: send instructions and input.",
    "background": "Wait for the answer.",
    "context_management": "Shorten the input yourself, which begins another branch of the rollout.",
    "top_logprobs": "The trainer keeps the log-probabilities of what it samples.",
    "moderation": "Leave it out: nothing is moderated here.",
}
_LOGPROBS = "message.output_text.logprobs"


def check_responses_offered(body: ResponsesRequest) -> None:
    """Raise InvalidInput `unsupported_parameter` for parameters that rollouts do not support."""
    for name, why in _REFUSED.items():
        if getattr(body, name):
            raise unsupported(name, f"{name} is not offered to rollouts.", why)
    if body.tool_choice not in (None, "auto", "none"):
        raise unsupported(
            "tool_choice",
            "The model cannot be forced to call a tool.",
            "Leave tool_choice out: the model decides.",
        )
    if body.text is not None and body.text.format is not None and body.text.format.type != "text":
        raise unsupported(
            "text.format", "Only the format text is offered.", "The policy that is trained samples freely."
        )
    if body.truncation not in (None, "disabled"):
        raise unsupported(
            "truncation", "The input is never shortened.", "Leave truncation out, and send a shorter input."
        )
    if _LOGPROBS in (body.include or ()):
        raise unsupported("include", f"{_LOGPROBS} is not offered to rollouts.", _REFUSED["top_logprobs"])


def chat_tools(body: ResponsesRequest) -> list[Message] | None:
    """Function tools in the format of chat completions.

    Raises InvalidInput: `unsupported_parameter` for hosted tools, `invalid_tools`.
    """
    tools = []
    for number, tool in enumerate(body.tools or ()):
        if not isinstance(tool, FunctionTool):
            raise unsupported(
                f"tools[{number}].type",
                f"There are no hosted tools such as {tool.type[:80]}.",
                "Use tools of type function, which your program runs.",
            )
        tools.append({"type": "function", "function": tool.model_dump(exclude={"type"}, exclude_none=True)})
    try:
        return checked_tools(tools, body.tool_choice)
    except InvalidInput as error:
        error.hint = 'A tool is {"type": "function", "name": "add", "parameters": {…}}.'
        raise


def chat_messages(body: ResponsesRequest, tools: list[Message] | None) -> list[Message]:
    """Messages of a request. `tools`, from `chat_tools`, count towards the limit of characters. Raises
    InvalidInput or TooLarge, with `param` in `input`.
    """
    conversation = _Conversation()
    if body.instructions:
        conversation.add({"role": "system", "content": body.instructions}, "instructions")
    if isinstance(body.input, str):
        conversation.add({"role": "user", "content": body.input}, "input")
    else:
        for number, item in enumerate(body.input):
            conversation.add_item(item, f"input[{number}]")
    try:
        return checked_messages(conversation.messages, tools)
    except ReinforgeError as error:
        error.param = _place(error.param, conversation.places)
        raise


class _Conversation:
    """The reasoning, text and calls of one response form one message."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.places: list[str] = []
        """Where each message begins in the request."""

    def add(self, message: Message, place: str) -> None:
        self.messages.append(message)
        self.places.append(place)

    def add_item(self, item: InputItem, place: str) -> None:
        if isinstance(item, InputMessage):
            self._add_message(item, place)
        elif isinstance(item, InputFunctionCall):
            function = {"name": item.name, "arguments": item.arguments}
            call = {"id": item.call_id, "type": "function", "function": function}
            self._turn(place).setdefault("tool_calls", []).append(call)
        elif isinstance(item, InputFunctionOutput):
            content = _content(item.output)
            self.add({"role": "tool", "tool_call_id": item.call_id, "content": content}, place)
        elif isinstance(item, InputReasoning):
            if text := "".join(part.text for part in item.content or ()):
                turn = self._turn(place, "reasoning_content", "content", "tool_calls")
                turn["reasoning_content"] = text
        else:
            raise _unsupported_item(item, place)

    def _add_message(self, item: InputMessage, place: str) -> None:
        content = _content(item.content)
        if item.role == "assistant":
            self._turn(place, "content", "tool_calls")["content"] = content
        else:
            self.add({"role": item.role, "content": content}, place)

    def _turn(self, place: str, *closing: str) -> Message:
        """The last message, if it is the assistant's and has no field of `closing`; otherwise a new one."""
        last = self.messages[-1] if self.messages else None
        if last is None or last["role"] != "assistant" or any(last.get(name) for name in closing):
            last = {"role": "assistant", "content": ""}
            self.add(last, place)
        return last


def _content(content: str | Sequence[InputPart]) -> str | list[Message]:
    if isinstance(content, str):
        return content
    return [
        {"type": "text", "text": part.text} if isinstance(part, InputText) else part.model_dump()
        for part in content
    ]


def _unsupported_item(item: OtherItem, place: str) -> InvalidInput:
    return unsupported(
        f"{place}.type",
        f"Items of type {item.type[:80]} are not offered to rollouts.",
        "Send messages, function_call, function_call_output and reasoning items.",
    )


def _place(param: str | None, places: Sequence[str]) -> str:
    number, _, rest = (param or "").removeprefix("messages[").partition("]")
    return places[int(number)] + rest if number.isdecimal() else "input"
