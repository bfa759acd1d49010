"""Calls of gpt-oss: `<|channel|>commentary to=functions.add <|constrain|>json<|message|>{"a": 1}<|call|>`."""

from collections.abc import Iterator

from reinforge.tool_calls.base import CallPassage, Notation, ParsedCall, Sections, Tools
from reinforge.tool_calls.notations.messages import MESSAGE, START, messages
from reinforge.tool_calls.notations.tagged import guarded, no_end
from reinforge.tool_calls.values import json_object

RECIPIENT, CALL = "to=functions.", "<|call|>"
ENDS = ("<|end|>", "<|return|>", CALL)
_NAME_ENDS = "<| \n\t"


def _sections(text: str) -> Sections:
    """Split a turn: the channel `analysis` is reasoning; calls keep header and body."""
    content, reasoning = [], []
    for header, body in messages(text, ENDS):
        if RECIPIENT in header:
            content.append(f"{START}{header}{MESSAGE}{body}{CALL}")
        elif "analysis" in header:
            reasoning.append(body)
        else:
            content.append(body)
    return Sections("".join(content), "\n".join(reasoning))


def _passages(text: str, tools: Tools) -> Iterator[CallPassage]:
    end = 0
    while (start := text.find(START, end)) >= 0:
        mark = text.find(MESSAGE, start)
        close = text.find(CALL, start)
        if mark < 0:
            yield CallPassage(start, len(text), no_end(text[start:], MESSAGE))
            return
        # A turn's last token ends its call, and may have been left out.
        end, close = (close + len(CALL), close) if close >= 0 else (len(text), len(text))
        yield CallPassage(start, end, guarded(_read, text[start:close], text[start:end], tools))


def _read(inner: str, raw: str, tools: Tools) -> ParsedCall:
    header, _, body = inner.partition(MESSAGE)
    name = header.partition(RECIPIENT)[2]
    end = next((place for place, character in enumerate(name) if character in _NAME_ENDS), len(name))
    if not name[:end]:
        raise ValueError("the call has no name")
    return ParsedCall(name[:end], json_object(body), raw)


HARMONY = Notation("harmony", (RECIPIENT,), _sections, _passages, special_tokens=True)
