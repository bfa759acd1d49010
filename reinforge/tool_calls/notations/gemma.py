"""Calls of Gemma 4: `<|tool_call>call:add{a:1,b:<|"|>text<|"|>}<tool_call|>`; reasoning in a channel."""

from reinforge.tool_calls.base import Notation, ParsedCall, Sections, Tools
from reinforge.tool_calls.notations.literals import Literals
from reinforge.tool_calls.notations.tagged import after, between
from reinforge.tool_calls.values import checked

CHANNEL, END_CHANNEL = "<|channel>", "<channel|>"
OPENING, CLOSING = "<|tool_call>", "<tool_call|>"
QUOTE = '<|"|>'


def _sections(text: str) -> Sections:
    start = text.find(CHANNEL)
    if start < 0 or text[:start].strip():
        return Sections(text, "")
    end = text.find(END_CHANNEL, start)
    reasoning = text[start + len(CHANNEL) : end if end >= 0 else len(text)].removeprefix("thought\n")
    return Sections(text[end + len(END_CHANNEL) :] if end >= 0 else "", reasoning)


def _read(inner: str, raw: str, tools: Tools) -> ParsedCall:
    place = after(inner, "call:", 0)
    scanner = Literals(inner, place, quotes=(QUOTE,), escapes=False)
    name = scanner.word()
    if not name:
        raise ValueError("the call has no name")
    arguments = scanner.pairs("{", ":", "}")
    if scanner.next():
        raise ValueError("there is text after the call")
    return ParsedCall(name, checked(arguments), raw)


GEMMA = Notation("gemma", (OPENING,), _sections, between(OPENING, CLOSING, _read), special_tokens=True)
