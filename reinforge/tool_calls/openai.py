"""Converts calls of a completion to OpenAI's format; unreadable calls stay text."""

from typing import Any

from reinforge.tool_calls.base import MOST_CALLS, Notation, ParsedCall, Tools, as_openai, without_ends
from reinforge.tool_calls.detection import detect
from reinforge.tool_calls.table import NOTATIONS


def split(
    text: str, notation: str | None = None, tools: Tools | None = None
) -> tuple[str | None, list[ParsedCall]]:
    """Return the text without its calls (None if empty) and the calls. notation: detected if None.

    If the notation's marks are special tokens, `text` has to contain them, and reasoning is also removed.
    """
    table_entry = NOTATIONS[notation] if notation else detect(text, tools)
    if table_entry is None:
        return text, []
    content = table_entry.sections(text).content
    rest, calls = _readable(table_entry, content, tools or ())
    if table_entry.special_tokens:  # the text has marks that are nobody's content
        return without_ends(rest).strip() or (None if calls else ""), calls
    if not calls:
        return text, []
    before = text[: len(text) - len(content)] if text.endswith(content) else ""
    return without_ends(before + rest).strip() or None, calls


def written(calls: list[ParsedCall]) -> list[dict[str, Any]]:
    return [as_openai(call, f"call_{number}") for number, call in enumerate(calls)]


def _readable(notation: Notation, content: str, tools: Tools) -> tuple[str, list[ParsedCall]]:
    pieces: list[str] = []
    calls: list[ParsedCall] = []
    end = 0
    for passage in notation.passages(content, tools):
        if passage.call.error is not None or len(calls) == MOST_CALLS:
            continue
        pieces.append(content[end : passage.start])
        calls.append(passage.call)
        end = passage.end
    return "".join([*pieces, content[end:]]), calls
