"""`calculate_output`: arithmetic over scores of a multi grader, with our own parser, never `eval`.

    expression = term (("+" | "-") term)*
    term       = unary (("*" | "/") unary)*
    unary      = ("+" | "-") unary | power
    power      = atom ["^" unary]              right-associative, above the sign: -2^2 = -4
    atom       = number | key | function "(" expression ("," expression)* ")" | "(" expression ")"

Numbers are 64-bit floats; a non-finite intermediate value is an error.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from reinforge.grading.errors import FormulaError

MAX_CHARACTERS = 4096
MAX_DEPTH = 100
MAX_OPERATIONS = 256

Numbers = Mapping[str, float]
_Node = Callable[[Numbers], float]

_ONE: dict[str, Callable[[float], float]] = {
    "abs": abs,
    "floor": math.floor,
    "ceil": math.ceil,
    "exp": math.exp,
    "sqrt": math.sqrt,
    "log": math.log,
}
_MANY: dict[str, Callable[..., float]] = {"min": min, "max": max}
FUNCTIONS = (*_MANY, *_ONE)
# pattern: a formula has at most MAX_CHARACTERS
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)|(?P<sign>\*\*|[-+*/^(),]))",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Formula:
    text: str
    names: frozenset[str]
    _evaluate: _Node

    def value(self, numbers: Numbers) -> float:
        """Raises FormulaError for a missing or non-finite value."""
        return self._evaluate(numbers)


@lru_cache(maxsize=256)
def parse(text: str) -> Formula:
    """Raises FormulaError with the position."""
    if len(text) > MAX_CHARACTERS:
        raise FormulaError(
            f"the formula has {len(text):,} characters, more than the limit of {MAX_CHARACTERS:,}"
        )
    return _Parser(text).formula()


class _Token(NamedTuple):
    kind: str
    text: str
    position: int


def _tokens(text: str) -> list[_Token]:
    tokens, position = [], 0
    while text[position:].strip():
        match = _TOKEN.match(text, position)
        if match is None:
            at = position + len(text[position:]) - len(text[position:].lstrip())
            raise FormulaError(
                f"the formula cannot be read at character {at + 1} ({text[at]!r}): use numbers, the graders' keys, "
                f"+ - * / ^, parentheses, and {', '.join(FUNCTIONS)}",
                position=at,
            )
        kind = str(match.lastgroup)
        tokens.append(_Token(kind, match[kind], match.start(kind)))
        position = match.end()
    return [*tokens, _Token("end", "", len(text))]


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.next = 0
        self.depth = 0
        self.names: set[str] = set()

    def formula(self) -> Formula:
        node = self.expression()
        if self.token.kind != "end":
            raise self.fault(
                "an operator is missing before it" if self.token.text not in "),^" else "it has no match"
            )
        if sum(token.kind == "sign" and token.text in "+-*/^" for token in self.tokens) > MAX_OPERATIONS:
            raise FormulaError(f"the formula has more than {MAX_OPERATIONS} operations")
        return Formula(self.text, frozenset(self.names), node)

    @property
    def token(self) -> _Token:
        return self.tokens[self.next]

    def take(self, *signs: str) -> str | None:
        token = self.token
        if token.kind == "sign" and token.text in signs:
            self.next += 1
            return token.text
        return None

    def fault(self, why: str) -> FormulaError:
        token = self.token
        what = f"{token.text!r}" if token.text else "the end"
        return FormulaError(
            f"the formula cannot be read at {what} (character {token.position + 1}): {why}",
            position=token.position,
        )

    def expression(self) -> _Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.fault("parentheses are nested too deeply")
        node = self.term()
        while sign := self.take("+", "-"):
            node = _binary(sign, node, self.term(), self.text)
        self.depth -= 1
        return node

    def term(self) -> _Node:
        node = self.unary()
        while sign := self.take("*", "/"):
            node = _binary(sign, node, self.unary(), self.text)
        return node

    def unary(self) -> _Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.fault("signs and powers are nested too deeply")
        sign = self.take("+", "-")
        node = self.unary() if sign else self.power()
        self.depth -= 1
        return _negative(node) if sign == "-" else node

    def power(self) -> _Node:
        node = self.atom()
        if self.token.text == "**":
            raise self.fault("write a power as ^")
        return _binary("^", node, self.unary(), self.text) if self.take("^") else node

    def atom(self) -> _Node:
        token = self.token
        if token.kind == "number":
            value = float(token.text)
            if not math.isfinite(value):
                raise self.fault("the number is too large")
            self.next += 1
            return lambda _: value
        if token.kind == "name":
            self.next += 1
            if self.take("("):
                return self.call(token)
            self.names.add(token.text)
            return _variable(token.text)
        if self.take("("):
            node = self.expression()
            if not self.take(")"):
                raise self.fault("a closing parenthesis is missing")
            return node
        raise self.fault("a number, a grader's key or a parenthesis is missing")

    def call(self, name: _Token) -> _Node:
        if name.text not in FUNCTIONS:
            self.next -= 2
            raise self.fault(f"there is no function {name.text}; there are {', '.join(FUNCTIONS)}")
        arguments = [self.expression()]
        while self.take(","):
            arguments.append(self.expression())
        if name.text in _ONE and len(arguments) != 1:
            raise self.fault(f"{name.text} takes one number")
        if not self.take(")"):
            raise self.fault("a closing parenthesis is missing")
        if name.text in _MANY:
            many = _MANY[name.text]
            return lambda numbers: float(many([argument(numbers) for argument in arguments]))
        return _function(name.text, arguments[0], self.text)


def _variable(name: str) -> _Node:
    def value(numbers: Numbers) -> float:
        if name not in numbers:
            raise FormulaError(f"the formula uses {name}, which has no score")
        return float(numbers[name])

    return value


def _negative(node: _Node) -> _Node:
    return lambda numbers: -node(numbers)


def _function(name: str, argument: _Node, text: str) -> _Node:
    def value(numbers: Numbers) -> float:
        operand = argument(numbers)
        try:
            return _finite(float(_ONE[name](operand)), text)
        except (ValueError, OverflowError) as error:
            raise FormulaError(f"{name}({operand:g}) has no finite value") from error

    return value


def _binary(sign: str, left: _Node, right: _Node, text: str) -> _Node:
    def value(numbers: Numbers) -> float:
        a, b = left(numbers), right(numbers)
        try:
            if sign == "+":
                return _finite(a + b, text)
            if sign == "-":
                return _finite(a - b, text)
            if sign == "*":
                return _finite(a * b, text)
            if sign == "/":
                return _finite(a / b, text)
            return _finite(math.pow(a, b), text)
        except ZeroDivisionError as error:
            raise FormulaError(f"{a:g} / 0 has no value") from error
        except (ValueError, OverflowError) as error:  # (-8)^0.5, 0^-1, 10^400
            raise FormulaError(f"{a:g} {sign} {b:g} has no finite value") from error

    return value


def _finite(value: float, text: str) -> float:
    if not math.isfinite(value):
        raise FormulaError(f"{text} has no finite value for these scores")
    return value
