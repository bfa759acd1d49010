"""Splits a turn that consists of several messages: `<|start|>HEADER<|message|>BODY<|end|>…`."""

from collections.abc import Iterator

START, MESSAGE = "<|start|>", "<|message|>"


def messages(text: str, ends: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield (header, body) of each message. The first header may begin in the prompt; text without marks
    is a body.
    """
    place = 0
    while place < len(text):
        mark = text.find(MESSAGE, place)
        if mark < 0:
            yield "", text[place:]
            return
        header = text[place:mark].removeprefix(START)
        body = mark + len(MESSAGE)
        end, size = _end(text, body, ends)
        yield header, text[body:end]
        place = end + size


def _end(text: str, place: int, ends: tuple[str, ...]) -> tuple[int, int]:
    """Position and length of a body's end mark; length 0 at `<|start|>` or the text's end."""
    while (place := text.find("<|", place)) >= 0:
        for mark in ends:
            if text.startswith(mark, place):
                return place, len(mark)
        if text.startswith(START, place):
            return place, 0
        place += 2
    return len(text), 0
