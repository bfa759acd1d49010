"""Reads calls between an opening and a closing mark."""

from collections.abc import Callable, Iterator

from reinforge.tool_calls.base import MOST_CHARACTERS, CallPassage, ParsedCall, Tools, refused

Inner = Callable[[str, str, Tools], ParsedCall]
"""(text between the marks, text with marks, tools) → call. Raises ValueError if malformed."""


def between(opening: str, closing: str, read: Inner) -> Callable[[str, Tools], Iterator[CallPassage]]:
    def passages(text: str, tools: Tools) -> Iterator[CallPassage]:
        end = 0
        while (start := text.find(opening, end)) >= 0:
            inner_start = start + len(opening)
            close = text.find(closing, inner_start)
            if close < 0:
                yield CallPassage(start, len(text), no_end(text[start:], closing))
                return
            end = close + len(closing)
            yield CallPassage(start, end, guarded(read, text[inner_start:close], text[start:end], tools))

    return passages


def guarded(read: Inner, inner: str, raw: str, tools: Tools) -> ParsedCall:
    """The call that `read` returns, or one with the reason why it cannot be read."""
    if len(raw) > MOST_CHARACTERS:
        return refused(raw, f"The call is longer than {MOST_CHARACTERS} characters.")
    try:
        return read(inner, raw, tools)
    except ValueError as error:
        return refused(raw, f"The call cannot be read: {error}.")


def no_end(raw: str, closing: str) -> ParsedCall:
    return refused(raw, f"The call has no end: {closing} is missing.")


def skip(text: str, place: int) -> int:
    """Position of the next character that is not white space."""
    while place < len(text) and text[place].isspace():
        place += 1
    return place


def after(text: str, mark: str, place: int) -> int:
    """Position after `mark`. Raises ValueError unless `mark` comes next."""
    place = skip(text, place)
    if not text.startswith(mark, place):
        raise ValueError(f"{mark} is missing")
    return place + len(mark)


def until(text: str, mark: str, place: int) -> int:
    """Position of the next `mark`. Raises ValueError without one."""
    end = text.find(mark, place)
    if end < 0:
        raise ValueError(f"{mark} is missing")
    return end
