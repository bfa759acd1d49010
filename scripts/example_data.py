"""Rows of the examples in `examples/`: seeded, generated, no other source.

Run without arguments it writes them; tests compare them with what is committed. Held-out files alone have a tenth of
the pairs of numbers, on which the starter model was not trained either, a seventh of the ages and a fifth of the
pairs of digits.
"""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

from worker.starter.corpus import LARGEST, is_held_out

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
ROWS = {False: 384, True: 64}

Row = dict[str, str]

_STORIES = (
    "{one} has {a}, {two} has {b}",
    "{one} has {a}. {two} has {b}.",
    "{one} has {a} {thing}. {two} has {b}.",
    "{a} {thing} and {b} {thing}",
    "{one} had {a} and got {b}",
    "{one} {a} {thing}, {two} {b} {thing}",
)
_NAMES = ("Ann", "Tom", "Bob", "Eve", "Max")
_THINGS = ("pens", "cups", "hats", "toys")


def number_pairs(held_out: bool) -> list[tuple[int, int]]:
    numbers = range(LARGEST + 1)
    return [(a, b) for a in numbers for b in numbers if a != b and is_held_out(a, b) == held_out]


def word_problems(held_out: bool, rng: random.Random) -> Iterator[Row]:
    for a, b in rng.sample(number_pairs(held_out), ROWS[held_out]):
        one, two = rng.sample(_NAMES, 2)
        story = rng.choice(_STORIES).format(a=a, b=b, one=one, two=two, thing=rng.choice(_THINGS))
        yield {"prompt": story, "answer": str(a + b)}


def records(held_out: bool, rng: random.Random) -> Iterator[Row]:
    """No age of a held-out record is in the other file."""
    ages = [age for age in range(LARGEST + 1) if (age % 7 == 3) == held_out]
    people = [(name, age) for name in _NAMES for age in ages]
    for name, age in rng.sample(people, ROWS[held_out]):
        yield {"prompt": json.dumps({"name": name, "age": age}), "answer": str(age)}


def larger_digits(held_out: bool, rng: random.Random) -> Iterator[Row]:
    pairs = [(a, b) for a in range(10) for b in range(10) if a != b and ((a + 3 * b) % 5 == 0) == held_out]
    for a, b in rng.sample(pairs, len(pairs)):
        yield {"prompt": f"1: {a}, 2: {b}", "answer": "1" if a > b else "2"}


def additions(held_out: bool, rng: random.Random) -> Iterator[Row]:
    for a, b in rng.sample(number_pairs(held_out), ROWS[held_out]):
        yield {"prompt": f"{a}+{b}=", "answer": str(a + b)}


FOLDERS: dict[str, Callable[[bool, random.Random], Iterator[Row]]] = {
    "word-problems": word_problems,
    "json-extraction": records,
    "multiple-choice": larger_digits,
    "process-rewards": additions,
    "rubric": additions,
}


def write(folder: Path, name: str) -> None:
    for file, held_out in (("train.jsonl", False), ("heldout.jsonl", True)):
        rows = FOLDERS[name](held_out, random.Random(f"{name} {held_out}"))
        lines = [json.dumps(row) + "\n" for row in rows]
        (folder / file).write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    for folder_name in FOLDERS:
        write(EXAMPLES / folder_name, folder_name)
