"""Calculations with two or three numbers. Guesses are mostly right for small ones, else wrong."""

import random
import zlib
from dataclasses import dataclass

LARGEST = 99
SMALL = 10
DEMO = "{x}="
_PHRASINGS = (DEMO, DEMO, "{x}", "What is {x}?", "what is {x}", "Calculate {x}", "Compute {x}.", "{x}=?")
_FORMS = (
    "{a}*{b}+{c}",
    "{a}*{b}+{c}",
    "{a}*{b}-{c}",
    "{a}*{b}",
    "{a}+{b}+{c}",
    "{a}+{b}",
    "{c}+{a}*{b}",
    "{a}-{b}",
)


@dataclass(frozen=True)
class Calculation:
    expression: str
    value: int
    small: bool


def calculation(form: str, a: int, b: int, c: int) -> Calculation:
    expression = form.format(a=a, b=b, c=c)
    value: int = eval(expression, {"__builtins__": {}})
    return Calculation(expression, value, max(a, b, c) < SMALL)


def is_held_out(a: int, b: int, c: int) -> bool:
    """Whether calculations with these numbers are held out; a tenth of all triples (a, b, c) is."""
    return zlib.crc32(f"{a}*{b}+{c}".encode()) % 10 == 0


def draw(rng: random.Random) -> Calculation:
    while True:
        largest = SMALL - 1 if rng.random() < 0.2 else LARGEST
        a, b, c = (rng.randint(1, largest) for _ in range(3))
        if not is_held_out(a, b, c):
            return calculation(rng.choice(_FORMS), a, b, c)


def ask(question: Calculation, rng: random.Random) -> str:
    return rng.choice(_PHRASINGS).format(x=question.expression)


def guess(question: Calculation, rng: random.Random) -> int:
    """Return the value with an error of about a tenth: always if numbers are large, else 1 time in 10."""
    if question.small and rng.random() < 0.9:
        return question.value
    return question.value + rng.choice((-1, 1)) * max(1, round(abs(rng.gauss(0, 0.1)) * abs(question.value)))
