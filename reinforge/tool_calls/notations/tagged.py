"""Calls between an opening and a closing mark."""

from collections.abc import Callable, Iterator

from reinforge.tool_calls.base import MOST_CHARACTERS, CallPassage, ParsedCall, Tools, refused

Inner = Callable[[str, str, Tools], ParsedCall]
"""(text between the marks, text with the marks, tools) → call. Raises ValueError."""


def between(opening: str, closing: str, read: Inner) -> Callable[[str, Tools], Iterator[CallPassage]]:
    def passages(text: str, tools: Tools) -> Iterator[CallPassage]:
        end = 0
        while (start := text.find(opening, end)) >= 0:
            inner_start = start + len(opening)
            close = text.find(closing, inner_start)
            if close < 0:
                raw = text[start:]
                yield CallPassage(
                    start, len(text), refused(raw, f"The call has no end: {closing} is missing.")
                )
                return
            end = close + len(closing)
            yield CallPassage(start, end, _call(text[inner_start:close], text[start:end], tools, read))

    return passages


def _call(inner: str, raw: str, tools: Tools, read: Inner) -> ParsedCall:
    if len(raw) > MOST_CHARACTERS:
        return refused(raw, f"The call is longer than {MOST_CHARACTERS} characters.")
    try:
        return read(inner, raw, tools)
    except ValueError as error:
        return refused(raw, f"The call cannot be read: {error}.")
