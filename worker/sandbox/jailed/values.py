"""Validates and converts what a reward returns, in the jail."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice

from . import region

KEYS = ("score", "reason", "parts", "steps", "turns", "criteria", "candidates")
_KEYS = frozenset(KEYS)


class BadValue(Exception):
    pass


@dataclass(slots=True)
class Converted:
    score: float = 0.0
    applicable: bool = True
    reason: str = ""
    parts: dict[str, float] = field(default_factory=dict)
    criteria: dict[str, float] = field(default_factory=dict)
    steps: list[tuple[float, float]] = field(default_factory=list)
    candidates: list[list[float]] = field(default_factory=list)
    turns: list[tuple[float, float]] = field(default_factory=list)


def convert(value: object) -> Converted:
    """Convert a number, None, or a mapping with ``score``; raises :class:`BadValue`."""
    if value is None:
        return Converted(applicable=False)
    if type(value) is not dict and not isinstance(value, Mapping):
        return Converted(score=number(value, "the reward"))
    answer = dict(value)
    if not _KEYS.issuperset(answer):
        unknown = [str(key)[:40] for key in answer if key not in _KEYS]
        raise BadValue(f"unknown key {unknown[0]!r} in the returned mapping; allowed are {', '.join(KEYS)}")
    if "score" not in answer:
        raise BadValue("the returned mapping has no 'score'")
    score = answer["score"]
    return Converted(
        score=0.0 if score is None else number(score, "score"),
        applicable=score is not None,
        reason=_text(answer.get("reason")),
        parts=_named(answer.get("parts"), "parts", region.MAX_PARTS),
        criteria=_named(answer.get("criteria"), "criteria", region.MAX_CRITERIA),
        steps=_placed(answer.get("steps"), "steps", "each step is [number, end character]"),
        turns=_turns(answer.get("turns")),
        candidates=_candidates(answer.get("candidates")),
    )


def number(value: object, what: str, name: str | None = None) -> float:
    """Convert a finite number of magnitude at most 1e6; raises :class:`BadValue`."""
    if type(value) is float and -region.MAX_MAGNITUDE <= value <= region.MAX_MAGNITUDE:
        return value
    kind = type(value)
    what = what if name is None else f"{what}[{name!r}]"
    if kind.__module__ == "numpy" and hasattr(kind, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()  # type: ignore[attr-defined]
    if type(value) not in (float, int, bool):
        raise BadValue(f"{what}: expected a number, got {kind.__name__[:80]}")
    try:
        result = float(value)  # type: ignore[arg-type]
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        raise BadValue(f"{what}: not a finite number")
    if abs(result) > region.MAX_MAGNITUDE:
        raise BadValue(f"{what}: {result:g} is outside ±{region.MAX_MAGNITUDE:g}")
    return result


def as_list(value: object, count: int) -> list[object]:
    """Return a call's ``count`` rewards as a list; raises TypeError or ValueError for anything else."""
    if type(value).__module__ == "numpy" and getattr(value, "ndim", 0) == 1:
        value = value.tolist()  # type: ignore[attr-defined]
    if type(value) is not list and type(value) is not tuple:
        raise TypeError(f"expected a list of {count} rewards, got {type(value).__name__[:80]}")
    answers: list[object] = list(value)
    if len(answers) != count:
        raise ValueError(f"expected {count} rewards, got {len(answers)}")
    return answers


def _text(value: object) -> str:
    if value is None:
        return ""
    if type(value) is not str:
        raise BadValue(f"reason: expected text, got {type(value).__name__[:80]}")
    return value


def _named(value: object, what: str, most: int) -> dict[str, float]:
    if value is None:
        return {}
    if type(value) is not dict and not isinstance(value, Mapping):
        raise BadValue(f"{what}: expected a mapping of names to numbers, got {type(value).__name__[:80]}")
    entries = list(islice(value.items(), most + 1))  # not len(): a mapping may lie about it
    if len(entries) > most:
        raise BadValue(f"{what}: at most {most} entries are allowed")
    result: dict[str, float] = {}
    for name, entry in entries:
        if type(name) is not str or not name.isprintable() or not 0 < len(name.encode()) <= region.NAME_BYTES:
            raise BadValue(
                f"{what}: a name is printable text of 1 to {region.NAME_BYTES} bytes, got {name!r:.80}"
            )
        result[name] = number(entry, what, name)
    return result


def _sequence(value: object, what: str) -> list[object]:
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        value = value.tolist()
    if type(value) is not list and type(value) is not tuple:
        raise BadValue(f"{what}: expected a list, got {type(value).__name__[:80]}")
    return list(value)


def _placed(value: object, what: str, shape: str) -> list[tuple[float, float]]:
    """Convert pairs of a number and a position; positions must not decrease."""
    pairs: list[tuple[float, float]] = []
    if value is None:
        return pairs
    for entry in _sequence(value, what):
        pair = _sequence(entry, f"{what}: {shape}, and an entry")
        if len(pair) != 2:
            raise BadValue(f"{what}: {shape}")
        place = number(pair[1], f"{what}: {shape}, and the second")
        if place < 0 or not place.is_integer():
            raise BadValue(f"{what}: {shape}")
        if pairs and place < pairs[-1][1]:
            raise BadValue(f"{what}: {shape}, and the second must not decrease")
        pairs.append((number(pair[0], what), place))
    if len(pairs) > region.MAX_STEPS:
        raise BadValue(f"{what}: at most {region.MAX_STEPS}, got {len(pairs)}")
    return pairs


def _turns(value: object) -> list[tuple[float, float]]:
    turns = _placed(value, "turns", "each entry is [number, turn from 0]")
    if len({turn for _, turn in turns}) != len(turns):
        raise BadValue("turns: two entries name the same turn")
    return turns


def _candidates(value: object) -> list[list[float]]:
    if value is None:
        return []
    vectors = [
        [number(x, "candidates") for x in _sequence(vector, "candidates: each candidate")]
        for vector in _sequence(value, "candidates")
    ]
    if len({len(vector) for vector in vectors}) > 1 or (vectors and not vectors[0]):
        raise BadValue("candidates: all vectors must have the same length, at least 1")
    if sum(len(vector) for vector in vectors) > region.MAX_CANDIDATE_NUMBERS:
        raise BadValue(f"candidates: at most {region.MAX_CANDIDATE_NUMBERS} numbers in all")
    return vectors
