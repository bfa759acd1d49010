"""Countdown with three numbers: `24 from 3 5 9` is answered by an expression that uses each once."""

import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product

LARGEST, LARGEST_TARGET = 12, 150
MOST_TRIES = 5
RIGHT_SHARE = 0.3


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
    """Return what the tool `check` says."""
    result = value(expression)
    return "right" if result == target else f"{result}, not {target}"


@lru_cache(maxsize=4096)
def expressions(numbers: tuple[int, int, int]) -> dict[str, int]:
    """Return all expressions of numbers in ascending order with values from 1 to LARGEST_TARGET."""
    written = {
        f"{a}{one}{b}{two}{c}" for a, b, c in permutations(numbers) for one, two in product("+-*", repeat=2)
    }
    values = {expression: value(expression) for expression in sorted(written)}
    return {expression: result for expression, result in values.items() if 0 < result <= LARGEST_TARGET}


def is_held_out(numbers: tuple[int, ...], target: int) -> bool:
    low = "+".join(map(str, sorted(numbers)))
    return zlib.crc32(f"{low}={target}".encode()) % 10 == 0


def draw(rng: random.Random, *, held_out: bool = False) -> Countdown:
    while True:
        a, b, c = rng.sample(range(1, LARGEST + 1), 3)
        low, middle, high = sorted((a, b, c))
        target = rng.choice(sorted(set(expressions((low, middle, high)).values())))
        if is_held_out((a, b, c), target) == held_out:
            return Countdown((a, b, c), target)


def proposals(question: Countdown, rng: random.Random) -> Iterator[str]:
    """Yield different expressions; RIGHT_SHARE of them reach the target."""
    low, middle, high = sorted(question.numbers)
    values = expressions((low, middle, high))
    pools = {
        right: [expression for expression, result in values.items() if (result == question.target) == right]
        for right in (True, False)
    }
    for pool in pools.values():
        rng.shuffle(pool)
    while pools[True] or pools[False]:
        right = rng.random() < RIGHT_SHARE if pools[True] and pools[False] else bool(pools[True])
        yield pools[right].pop()
