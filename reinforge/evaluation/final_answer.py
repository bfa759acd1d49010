"""Comparison of a completion's final answer with the reference: numbers and short texts only."""

import re
from collections.abc import Callable
from typing import Any

from reinforge.parsing.delimited import passages

LONGEST = 64
"""Maximum characters of a reference answer; a longer text is a worked solution."""
_NUMBER = re.compile(r"[-+−]?\$?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|[-+−]?\.\d+")
_MARKS: tuple[Callable[[str], list[str]], ...] = (
    lambda text: [passage.inner for passage in passages(text, "<answer>", "</answer>")],
    re.compile(r"\\boxed\{([^{}]*)\}").findall,
    re.compile(r"####([^\n]*)").findall,
    # pattern: linear: its end takes everything, so it never goes back
    re.compile(r"(?i)\banswer(?: is|:)\s*([^\n]*)").findall,
)
"""Patterns of a marked final answer. The first with a match decides, by its last match."""
_EDGES = " \t\r\n.,;:!?\"'`*$()[]"

Reference = float | str


def reference(value: Any) -> Reference | None:
    """Parse a row's reference answer: number or short text, in a worked solution after `####`; else None."""
    if value is None or isinstance(value, bool | list | dict):
        return None
    if isinstance(value, int | float):
        return float(value)
    text = str(value).rpartition("####")[2].strip()
    match = _NUMBER.fullmatch(text)
    if match:
        return _number(match.group())
    return _plain(text) if 0 < len(text) <= LONGEST and "\n" not in text and _plain(text) else None


def is_right(completion: str, expected: Reference) -> bool:
    """Whether the marked answer, or else the last number or line, is right."""
    visible = completion.rpartition("</think>")[2]
    marked = next((texts[-1] for mark in _MARKS if (texts := mark(visible))), None)
    if isinstance(expected, str):
        lines = (marked if marked is not None else visible).strip().splitlines()
        return bool(lines) and _plain(lines[-1]) == expected
    numbers = _NUMBER.findall(visible if marked is None else marked)
    return bool(numbers) and abs(_number(numbers[-1]) - expected) <= 1e-6 * max(1.0, abs(expected))


def _number(text: str) -> float:
    return float(text.replace(",", "").replace("$", "").replace("−", "-"))


def _plain(text: str) -> str:
    return " ".join(text.strip(_EDGES).casefold().split())
