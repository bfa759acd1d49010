"""Digests of conversations. They stay equal if a program sends the same messages back in another form."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reinforge.parsing.json_depth import is_deeper

Message = Mapping[str, Any]

_REASONING = ("reasoning_content", "reasoning")
_SAMPLED = frozenset({"role", "content", "tool_calls", *_REASONING})
"""Fields of the assistant's message that the policy wrote. Clients add others, such as a `name` or `annotations`."""


@dataclass(frozen=True, slots=True)
class ChainDigest:
    """SHA-256 digests (hex) of tools and messages: complete, without reasoning, and without tools."""

    exact: str
    without_reasoning: str
    without_tools: str

    def extended(self, message: Message) -> "ChainDigest":
        full, bare = _canonical(message), _canonical(_without_reasoning(message))
        return ChainDigest(
            _digest(self.exact, full),
            _digest(self.without_reasoning, bare),
            _digest(self.without_tools, full),
        )


def chain_digests(messages: Sequence[Message], tools: Sequence[Message] | None) -> list[ChainDigest]:
    """Digests of a conversation's first 0, 1, …, all messages.

    Digests ignore whether content is a string or text parts, how call arguments write the same JSON (1.0
    equals 1), and whether an empty field is present. Of an assistant's message, they cover only fields that
    the policy wrote, without call ids, because history is never rendered again.
    """
    schemas = _digest("", _json(list(tools or ())))
    chain = [ChainDigest(schemas, schemas, _digest("", "[]"))]
    for message in messages:
        chain.append(chain[-1].extended(message))
    return chain


def value_digest(value: Any) -> str:
    return _digest("", _json(value))


def _canonical(message: Message) -> str:
    fields = {
        "reasoning" if name in _REASONING else name: value
        for name, value in message.items()
        if value not in (None, "", [], {}) and (name in _SAMPLED or message.get("role") != "assistant")
    }
    if isinstance(fields.get("content"), list):
        fields["content"] = _text(fields["content"])
    if isinstance(fields.get("tool_calls"), list):
        fields["tool_calls"] = [_call(call) for call in fields["tool_calls"]]
    return _json(fields)


def _without_reasoning(message: Message) -> Message:
    return {name: value for name, value in message.items() if name not in _REASONING}


def _text(parts: list[Any]) -> Any:
    """Text parts joined to one string; a list with other parts is returned as it is."""
    texts = [part["text"] for part in parts if _is_text(part)]
    return "".join(texts) if len(texts) == len(parts) else parts


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)


def _call(call: Any) -> Any:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        return call
    return {"name": function.get("name"), "arguments": _arguments(function.get("arguments"))}


def _arguments(written: Any) -> Any:
    if not isinstance(written, str):
        return {"parsed": _numbers(written)}
    try:
        parsed = json.loads(written)
    except (ValueError, RecursionError):
        return written
    return written if is_deeper(parsed) else {"parsed": _numbers(parsed)}


def _numbers(value: Any) -> Any:
    """JSON value with whole floats as integers, since JavaScript writes 1.0 as 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return {name: _numbers(item) for name, item in value.items()} if isinstance(value, dict) else value


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _digest(before: str, text: str) -> str:
    return hashlib.sha256(f"{before}\n{text}".encode()).hexdigest()
