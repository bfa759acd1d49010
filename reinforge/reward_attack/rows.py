"""Rows of the data from which probes are made."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

MOST_LISTED = 2_000


@dataclass(frozen=True)
class AttackRow:
    prompt: str | list[dict[str, Any]]
    item: dict[str, Any] = field(repr=False)
    answer: str | None

    @property
    def prompt_text(self) -> str:
        if isinstance(self.prompt, str):
            return self.prompt
        return "\n".join(str(message.get("content") or "") for message in self.prompt)


@dataclass(frozen=True)
class AnswerPool:
    answers: tuple[str, ...]

    @classmethod
    def of(cls, rows: Sequence[AttackRow]) -> "AnswerPool":
        return cls(tuple(row.answer for row in rows if row.answer is not None))

    @cached_property
    def distinct(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.answers))

    @cached_property
    def most_common(self) -> str | None:
        return Counter(self.answers).most_common(1)[0][0] if self.answers else None

    @cached_property
    def numeric(self) -> bool:
        return bool(self.answers) and all(number(answer) is not None for answer in self.answers)

    def other(self, answer: str) -> str | None:
        if answer not in self.distinct or len(self.distinct) < 2:
            return None
        start = self.distinct.index(answer) + 1
        others = self.distinct[start:] + self.distinct[: start - 1]
        return next((other for other in others if not same(other, answer)), None)

    def listed(self, answer: str) -> str:
        """Text of all answers: `answer` in the middle of at most MOST_LISTED characters of others."""
        others = [other for other in self.distinct if other != answer]
        texts: list[str] = []
        for other in others:
            if sum(map(len, texts)) + len(other) > MOST_LISTED:
                break
            texts.append(other)
        middle = len(texts) // 2
        return " ".join([*texts[:middle], answer, *texts[middle:]])


def answer_text(value: Any) -> str | None:
    if value is None or isinstance(value, bool | str):
        return (str(value).strip() or None) if value is not None else None
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, int | float):
        return str(value)
    return json.dumps(value, ensure_ascii=False)


def number(text: str) -> float | None:
    try:
        return float(text.replace(",", "").strip())
    except ValueError:
        return None


def same(one: str, other: str | None) -> bool:
    if other is None:
        return False
    value = number(one)
    return one.casefold() == other.casefold() or (value is not None and value == number(other))
