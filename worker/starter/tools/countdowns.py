"""Countdown: `24 from 3 5 9` is answered by an expression that uses the three numbers once each, in this order."""

import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

LARGEST, LARGEST_TARGET = 12, 150
MOST_TRIES = 6


@dataclass(frozen=True)
class Countdown:
    numbers: tuple[int, int, int]
    target: int

    @property
    def prompt(self) -> str:
        return f"{self.target} from {' '.join(map(str, self.numbers))}"


def value(expression: str) -> int:
    result: int = eval(expression, {"__builtins__": {}})
    return result


def verdict(expression: str, target: int) -> str:
    result = value(expression)
    return "right" if result == target else f"{result}, not {target}"


@lru_cache(maxsize=4096)
def expressions(numbers: tuple[int, int, int]) -> dict[str, int]:
    """Return all expressions of the numbers in their order with values from 1 to LARGEST_TARGET."""
    a, b, c = numbers
    values = {(text := f"{a}{one}{b}{two}{c}"): value(text) for one, two in product("+-*", repeat=2)}
    return {expression: result for expression, result in values.items() if 0 < result <= LARGEST_TARGET}


def is_held_out(numbers: tuple[int, ...], target: int) -> bool:
    low = "+".join(map(str, sorted(numbers)))
    return zlib.crc32(f"{low}={target}".encode()) % 10 == 0


def draw(rng: random.Random, *, held_out: bool = False) -> Countdown:
    while True:
        a, b, c = rng.sample(range(1, LARGEST + 1), 3)
        target = rng.choice(sorted(set(expressions((a, b, c)).values())))
        if is_held_out((a, b, c), target) == held_out:
            return Countdown((a, b, c), target)


def proposals(question: Countdown, rng: random.Random) -> Iterator[str]:
    yield from rng.sample(sorted(expressions(question.numbers)), len(expressions(question.numbers)))
