"""Canonical text of a plain value: two texts are equal exactly if the values are ``==``."""

import json
from collections import Counter, OrderedDict, defaultdict, deque

_MAX_DEPTH = 100
_NUMBERS = (bool, int, float, complex)
_DICTS = (dict, OrderedDict, defaultdict, Counter)


class NoCanonicalForm(Exception):
    pass


def canonical(value: object, *, loose: bool = False) -> str:
    """loose: tuples count as lists."""
    return _text(value, loose, 0)


def _text(value: object, loose: bool, depth: int) -> str:
    if depth > _MAX_DEPTH:
        raise NoCanonicalForm(f"the value is nested deeper than {_MAX_DEPTH}")
    kind = type(value)
    if kind.__module__ == "numpy" and hasattr(value, "tolist"):
        return _text(value.tolist(), loose, depth + 1)
    if value is None:
        return "null"
    if kind in _NUMBERS:
        return _number(value)  # type: ignore[arg-type]
    if kind is str:
        return json.dumps(value)
    if isinstance(value, bytes | bytearray) and kind in (bytes, bytearray):
        return f"b{value.hex()}"
    if kind is list or kind is deque or kind is tuple:
        inside = ",".join(_text(item, loose, depth + 1) for item in value)  # type: ignore[attr-defined]
        if kind is tuple and not loose:
            return f"({inside})"
        return f"d[{inside}]" if kind is deque else f"[{inside}]"
    if kind is set or kind is frozenset:
        return "{" + ",".join(sorted(_text(item, loose, depth + 1) for item in value)) + "}"  # type: ignore[attr-defined]
    if kind in _DICTS:
        pairs = value.items()  # type: ignore[attr-defined]
        inside = ",".join(
            sorted(f"{_text(key, loose, depth + 1)}:{_text(item, loose, depth + 1)}" for key, item in pairs)
        )
        return "{:" + inside + "}"
    raise NoCanonicalForm(f"a result of type {kind.__name__[:80]} cannot be compared outside the jail")


def _number(value: complex) -> str:
    if type(value) is complex:
        return _number(value.real) if value.imag == 0 else f"({_number(value.real)}+{_number(value.imag)}j)"
    if type(value) is float and not value.is_integer():  # not a number and the infinities too
        return repr(value)
    whole = int(value.real)
    return str(whole) if whole.bit_length() < 10_000 else hex(whole)
