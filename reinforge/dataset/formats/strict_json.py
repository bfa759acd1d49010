"""Strict parser of one line of JSON, with the position of the first fault.

Refuses what Parquet, PostgreSQL, browsers or pandas would change, such as duplicate keys, NaN, 65-bit
integers, lone surrogates.
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from reinforge.dataset.errors import DatasetError, Path
from reinforge.parsing.json_depth import is_deeper

INT64 = range(-(2**63), 2**63)

# pattern: linear: what is repeated inside begins with a backslash, which the rest excludes
_TOKEN = re.compile(r'\s*("[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+)', re.DOTALL)
_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u([0-9a-fA-F]{4})|\\.", re.DOTALL
)
_SUSPECT_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
_INTEGER = re.compile(r"-?\d+\Z")
_CONSTANTS = ("NaN", "Infinity", "-Infinity")


class _Refused(Exception):
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _Refused
    return value


def _integer(digits: str) -> int:
    # 18 digits always fit; longer ones are rare, and `int` itself refuses thousands of digits.
    if len(digits) > 18 and (len(digits) > 20 or int(digits) not in INT64):
        raise _Refused
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise _Refused
    return value


def _constant(_name: str) -> Any:
    raise _Refused


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant
)


def parse(text: str, max_depth: int) -> Any:
    """Parse one line. Raises DatasetError with the `column` of the fault in `text`, without `line`."""
    too_deep = None
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise _syntax_error(text, error) from None
    except _Refused:
        raise _first_fault(text) from None
    except RecursionError:
        too_deep = _too_deep(text, max_depth)
        if too_deep is None:  # the caller's own stack was full
            raise
    # Long conversations have many brackets and few levels: the slow tokenizer is for what is refused.
    if too_deep is None and text.count("[") + text.count("{") > max_depth and is_deeper(value, max_depth):
        too_deep = _too_deep(text, max_depth)
    if too_deep is not None:
        raise too_deep
    if _SUSPECT_ESCAPE.search(text):
        _check_escapes(text)
    return value


@dataclass(frozen=True, slots=True)
class Token:
    path: Path
    offset: int
    raw: str
    is_key: bool = False
    is_repeated: bool = False


@dataclass(slots=True)
class _Frame:
    is_object: bool
    key: str | int = 0
    wants_key: bool = False
    keys: set[str] = field(default_factory=set)


def tokens(text: str) -> Iterator[Token]:
    """JSON tokens of a line: keys, and the first token of values. Ends at the first that is not valid JSON."""
    stack: list[_Frame] = []
    position = 0
    while match := _TOKEN.match(text, position):
        position, raw, offset = match.end(), match[1], match.start(1)
        top = stack[-1] if stack else None
        if raw in "}]":
            if not stack:
                return
            stack.pop()
        elif raw in ",:":
            if top is None:
                return
            if raw == ",":
                top.wants_key = top.is_object
                if isinstance(top.key, int):
                    top.key += 1
        elif top is not None and top.wants_key:
            if not raw.startswith('"'):
                return
            name = json.loads(raw, strict=False)
            top.key, top.wants_key = name, False
            path = tuple(frame.key for frame in stack)
            yield Token(path, offset, raw, is_key=True, is_repeated=name in top.keys)
            top.keys.add(name)
        else:
            yield Token(tuple(frame.key for frame in stack), offset, raw)
            if raw in "{[":
                stack.append(_Frame(is_object=raw == "{", wants_key=raw == "{"))


def column_of(text: str, path: Path) -> int:
    """1-based column of the value at `path`, or of its nearest parent."""
    best, depth = 1, -1
    for token in tokens(text):
        if token.is_key or len(token.path) <= depth:
            continue
        if token.path == path[: len(token.path)]:
            best, depth = token.offset + 1, len(token.path)
            if depth == len(path):
                break
    return best


def _fault(text: str, offset: int, code: str, message: str, hint: str, path: Path = ()) -> DatasetError:
    return DatasetError(message, code=code, column=offset + 1, hint=hint, text=text, path=path)


def _first_fault(text: str) -> DatasetError:
    for token in tokens(text):
        if token.is_repeated:
            return _fault(
                text,
                token.offset,
                "duplicate_key",
                f"The key {token.raw[:80]} appears twice in one object; one value would be lost.",
                "Keep one of them or rename the other.",
                token.path,
            )
        if token.is_key:
            continue
        if token.raw in _CONSTANTS:
            message = f"{token.raw} is not JSON and not a number that can be used."
            return _fault(text, token.offset, "not_finite", message, "Write null instead.", token.path)
        if _INTEGER.match(token.raw) and (len(token.raw) > 20 or int(token.raw) not in INT64):
            message = f"The integer {token.raw[:40]} does not fit into 64 bits (signed)."
            hint = "Write it as a string; Parquet, browsers and databases would change or refuse it."
            return _fault(text, token.offset, "integer_too_large", message, hint, token.path)
        if token.raw[0] in "-0123456789" and _overflows(token.raw):
            message = f"The number {token.raw[:40]} is too large for a 64 bit float."
            return _fault(text, token.offset, "not_finite", message, "Write it as a string.", token.path)
    return _fault(text, 0, "invalid_json", "This line is not valid JSON.", ONE_OBJECT)


def _overflows(digits: str) -> bool:
    try:
        return math.isinf(float(digits))
    except ValueError:
        return False


def _too_deep(text: str, max_depth: int) -> DatasetError | None:
    for token in tokens(text):
        if token.raw in "{[" and not token.is_key and len(token.path) >= max_depth:
            message = f"Lists and objects are nested more than {max_depth} levels deep."
            hint = "Flatten the value, or keep it as a string of JSON that the reward parses."
            return _fault(text, token.offset, "nesting_too_deep", message, hint)
    return None


def _check_escapes(text: str) -> None:
    # In valid JSON a backslash occurs inside strings only, so the whole line can be looked through at once.
    for match in _ESCAPE.finditer(text):
        if match[1] is None:
            continue
        code_point = int(match[1], 16)
        if code_point == 0:
            message = "There is a NUL character (\\u0000) in a string."
            raise _fault(
                text, match.start(), "nul_byte", message, "Remove it; databases cannot store it in text."
            )
        if 0xD800 <= code_point <= 0xDFFF:
            message = f"\\u{match[1]} is half of a surrogate pair: the character is cut in two."
            hint = (
                "Cut texts between characters, not between UTF-16 units, or write UTF-8 instead of escapes."
            )
            raise _fault(text, match.start(), "lone_surrogate", message, hint)


ONE_OBJECT = "JSONL has one complete JSON object per line."
_IN_OUR_WORDS = {
    "Expecting value": "a value is missing or is not JSON here",
    "Expecting ',' delimiter": "a comma or a closing bracket is missing here",
    "Expecting ':' delimiter": "a colon is missing after the key",
    "Expecting property name enclosed in double quotes": "a key in double quotes is missing here",
    "Illegal trailing comma before end of object": "a comma is followed by no key",
    "Illegal trailing comma before end of array": "a comma is followed by no value",
    "Extra data": "something follows the JSON value",
    "Invalid control character at": "a control character in a string has to be escaped",
}


def _syntax_error(text: str, error: json.JSONDecodeError) -> DatasetError:
    end = len(text.rstrip())
    if error.msg.startswith("Unterminated string"):
        message = "The line ends inside the string that begins here."
        return _fault(text, error.pos, "truncated_json", message, _truncated_hint(text))
    if error.pos >= end:
        message = "The line ends before its JSON value is complete."
        return _fault(text, end, "truncated_json", message, _truncated_hint(text))
    what = _IN_OUR_WORDS.get(error.msg, error.msg[:1].lower() + error.msg[1:])
    hint = ONE_OBJECT
    if text[error.pos] == "'":
        hint = "JSON takes double quotes. A Python dict becomes JSON with json.dumps(row)."
    elif text[error.pos :].startswith(("None", "True", "False")):
        hint = "JSON writes null, true and false. A Python dict becomes JSON with json.dumps(row)."
    return _fault(text, error.pos, "invalid_json", f"Not valid JSON: {what}.", hint)


def _truncated_hint(text: str) -> str:
    if text.strip() in ("{", "["):
        return "Is the file indented JSON? Put each object on one line: jq -c '.[]' old.json > new.jsonl"
    return ONE_OBJECT + " Was the upload or the export cut off?"
