"""Separates reasoning up to `</think>` from the message after it; `<think>` may be in the prompt."""

from reinforge.tool_calls.base import Sections

THINK, END_THINK = "<think>", "</think>"


def think_sections(text: str) -> Sections:
    """Split a text into content and the reasoning at its start."""
    end = text.find(END_THINK)
    start = text.find(THINK)
    begins = start >= 0 and not text[:start].strip()
    if end < 0:
        return Sections("", text[start + len(THINK) :]) if begins else Sections(text, "")
    if start > 0 and not begins and start < end:  # opened in the middle of the answer: it is text
        return Sections(text, "")
    reasoning = text[start + len(THINK) if begins and start < end else 0 : end]
    return Sections(text[end + len(END_THINK) :], reasoning)
