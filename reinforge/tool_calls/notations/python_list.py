"""Calls of LFM2: `<|tool_call_start|>[add(a=1), now()]<|tool_call_end|>`."""

from collections.abc import Iterator

from reinforge.tool_calls.base import MOST_CHARACTERS, CallPassage, Notation, ParsedCall, Tools, refused
from reinforge.tool_calls.notations.literals import Literals
from reinforge.tool_calls.notations.tagged import no_end
from reinforge.tool_calls.reasoning import think_sections
from reinforge.tool_calls.values import checked

OPENING, CLOSING = "<|tool_call_start|>", "<|tool_call_end|>"


def _passages(text: str, tools: Tools) -> Iterator[CallPassage]:
    end = 0
    while (start := text.find(OPENING, end)) >= 0:
        inner_start = start + len(OPENING)
        close = text.find(CLOSING, inner_start)
        if close < 0:
            yield CallPassage(start, len(text), no_end(text[start:], CLOSING))
            return
        end = close + len(CLOSING)
        # The first call has the text of the list, so that a message's passages do not overlap.
        calls = _calls(text[inner_start:close], text[start:end])
        for number, call in enumerate(calls):
            yield CallPassage(start if number == 0 else end, end, call)


def _calls(inner: str, raw: str) -> list[ParsedCall]:
    if len(raw) > MOST_CHARACTERS:
        return [refused(raw, f"The calls are longer than {MOST_CHARACTERS} characters.")]
    scanner, calls = Literals(inner), []
    try:
        scanner.take("[")
        while scanner.next() != "]":
            start = scanner.place
            name = scanner.word()
            if not name:
                raise ValueError("a call has no name")
            arguments = checked(scanner.pairs("(", "=", ")"))
            calls.append(ParsedCall(name, arguments, inner[start : scanner.place]))
            if scanner.next() != "]":
                scanner.take(",")
        scanner.take("]")
        if scanner.next():
            raise ValueError("there is text after the list")
        if not calls:
            raise ValueError("the list has no call")
    except ValueError as error:
        return [*calls, refused(raw, f"The call cannot be read: {error}.")]
    return calls


PYTHON_LIST = Notation("python_list", (OPENING,), think_sections, _passages, special_tokens=True)
