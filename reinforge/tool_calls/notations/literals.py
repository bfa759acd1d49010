"""Scanner of values similar to JSON: Python literals, and Gemma's values with unquoted keys."""

import json
from dataclasses import dataclass
from typing import Any

from reinforge.tool_calls.base import DEEPEST
from reinforge.tool_calls.notations.tagged import after, skip, until

_WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "0": "\0", "\n": ""}
_DIGITS = {"x": 2, "u": 4, "U": 8}
_ENDS = frozenset(",:=()[]{}\"'")


@dataclass(slots=True)
class Literals:
    """Reads values at position `place` of `text`. Raises ValueError."""

    text: str
    place: int = 0
    quotes: tuple[str, ...] = ('"', "'")
    escapes: bool = True
    """Whether strings have backslash escapes."""

    def next(self) -> str:
        """Skip white space. Returns the next character, "" at the end."""
        self.place = skip(self.text, self.place)
        return self.text[self.place : self.place + 1]

    def take(self, mark: str) -> None:
        self.place = after(self.text, mark, self.place)

    def word(self) -> str:
        """Read text up to white space or a character of `_ENDS`."""
        start = self.place = skip(self.text, self.place)
        while self.place < len(self.text):
            character = self.text[self.place]
            if character in _ENDS or character.isspace():
                break
            self.place += 1
        return self.text[start : self.place]

    def value(self, depth: int = 0) -> Any:
        if depth > DEEPEST:
            raise ValueError(f"lists and objects are nested more than {DEEPEST} levels deep")
        if self._quote() is not None:
            return self.string()
        first = self.next()
        if first == "{":
            return self.pairs("{", ":", "}", depth)
        if first in ("[", "("):
            return self._items("]" if first == "[" else ")", depth)
        return _scalar(self.word())

    def pairs(self, opening: str, between: str, closing: str, depth: int = 0) -> dict[str, Any]:
        """Read `{key: value, …}` or `(key=value, …)`."""
        self.take(opening)
        pairs: dict[str, Any] = {}
        while self.next() != closing:
            key = self.string() if self._quote() is not None else self.word()
            self.take(between)
            if not key or key in pairs:
                raise ValueError("a key is missing or appears twice")
            pairs[key] = self.value(depth + 1)
            if self.next() != closing:
                self.take(",")
        self.take(closing)
        return pairs

    def string(self) -> str:
        quote = self._quote()
        if quote is None:
            raise ValueError("a string is missing")
        start = self.place = self.place + len(quote)
        if not self.escapes:
            end = until(self.text, quote, start)
            self.place = end + len(quote)
            return self.text[start:end]
        pieces = []
        while self.place < len(self.text):
            character = self.text[self.place]
            if character == quote:
                pieces.append(self.text[start : self.place])
                self.place += 1
                return "".join(pieces)
            if character == "\\":
                pieces.append(self.text[start : self.place])
                pieces.append(self._escape())
                start = self.place
            else:
                self.place += 1
        raise ValueError("a string has no end")

    def _quote(self) -> str | None:
        self.place = skip(self.text, self.place)
        return next((quote for quote in self.quotes if self.text.startswith(quote, self.place)), None)

    def _items(self, closing: str, depth: int) -> list[Any]:
        self.place += 1
        items = []
        while self.next() != closing:
            items.append(self.value(depth + 1))
            if self.next() != closing:
                self.take(",")
        self.take(closing)
        return items

    def _escape(self) -> str:
        kind = self.text[self.place + 1 : self.place + 2]
        size = _DIGITS.get(kind)
        if size is None:
            self.place += 2
            return _ESCAPES.get(kind, kind if kind in "\\'\"/" else f"\\{kind}")
        digits = self.text[self.place + 2 : self.place + 2 + size]
        self.place += 2 + size
        try:
            return _joined(int(digits, 16))
        except (ValueError, OverflowError):
            raise ValueError(f"\\{kind}{digits} is no character") from None


def _joined(code: int) -> str:
    return chr(code)


def _scalar(word: str) -> Any:
    if word in _WORDS:
        return _WORDS[word]
    try:
        value = json.loads(word)
    except (ValueError, RecursionError):
        raise ValueError(f"{word[:40]!r} is no value") from None
    return value
