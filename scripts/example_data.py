"""Rows of the examples in `examples/`: seeded, generated, no other source.

Run without arguments it writes them; tests compare them with what is committed. Held-out files alone have a tenth of
the pairs of numbers, on which the starter model was not trained either, a seventh of the ages, a fifth of the pairs of
digits, a tenth of the calculations and of the countdowns, and a quarter of the look-ups.
"""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

from worker.starter.corpus import LARGEST, is_held_out
from worker.starter.tools import calculations, countdowns, lookups

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
COUNTRIES, CITIES, CITY_FACTS = 32, ("capital", "port"), ("mayor", "river", "baker")
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


def large_calculations(held_out: bool, rng: random.Random) -> Iterator[Row]:
    numbers = range(calculations.SMALL, calculations.LARGEST + 1)
    drawn: set[tuple[int, int, int]] = set()
    while len(drawn) < ROWS[held_out]:
        a, b, c = (rng.choice(numbers) for _ in range(3))
        if calculations.is_held_out(a, b, c) == held_out and (a, b, c) not in drawn:
            drawn.add((a, b, c))
            question = calculations.calculation("{a}*{b}+{c}", a, b, c)
            yield {"prompt": calculations.DEMO.format(x=question.expression), "answer": str(question.value)}


def reachable_targets(held_out: bool, rng: random.Random) -> Iterator[Row]:
    prompts: set[str] = set()
    while len(prompts) < ROWS[held_out]:
        question = countdowns.draw(rng, held_out=held_out)
        if question.prompt not in prompts:
            prompts.add(question.prompt)
            numbers = " ".join(map(str, question.numbers))
            yield {"prompt": question.prompt, "answer": str(question.target), "numbers": numbers}


def knowledge_base() -> dict[str, str]:
    """Facts of the example `lookup`: `capital of Vona` → a name. No name stands for two things."""
    rng = random.Random("lookup")
    names: list[str] = []
    while len(names) < COUNTRIES * (1 + len(CITIES) * (1 + len(CITY_FACTS))):
        name = lookups.name(rng)
        if name not in names:
            names.append(name)
    facts = {}
    for country in [names.pop() for _ in range(COUNTRIES)]:
        for kind in CITIES:
            city = facts[f"{kind} of {country}"] = names.pop()
            facts |= {f"{what} of {city}": names.pop() for what in CITY_FACTS}
    return facts


def two_hops(held_out: bool, rng: random.Random) -> Iterator[Row]:
    facts = knowledge_base()
    cities = {question: city for question, city in facts.items() if question.startswith(CITIES)}
    rows = [
        {"prompt": f"{what} of {question}?", "answer": facts[f"{what} of {city}"]}
        for number, (question, city) in enumerate(cities.items())
        for place, what in enumerate(CITY_FACTS)
        if ((number + place) % 4 == 3) == held_out
    ]
    yield from rng.sample(rows, len(rows))


FOLDERS: dict[str, Callable[[bool, random.Random], Iterator[Row]]] = {
    "word-problems": word_problems,
    "json-extraction": records,
    "multiple-choice": larger_digits,
    "process-rewards": additions,
    "rubric": additions,
    "calculator-agent": large_calculations,
    "countdown": reachable_targets,
    "lookup": two_hops,
}


def write(folder: Path, name: str) -> None:
    for file, held_out in (("train.jsonl", False), ("heldout.jsonl", True)):
        rows = FOLDERS[name](held_out, random.Random(f"{name} {held_out}"))
        lines = [json.dumps(row) + "\n" for row in rows]
        (folder / file).write_text("".join(lines), encoding="utf-8")


def write_knowledge_base(folder: Path) -> None:
    """Replace the facts in the example's tools.py, which stand between its triple quotes of `FACTS`."""
    path = folder / "tools.py"
    before, opening, rest = path.read_text(encoding="utf-8").partition('FACTS = """\n')
    _, closing, after = rest.partition('"""')
    lines = "".join(f"{question}: {name}\n" for question, name in knowledge_base().items())
    path.write_text(before + opening + lines + closing + after, encoding="utf-8")


if __name__ == "__main__":
    for folder_name in FOLDERS:
        write(EXAMPLES / folder_name, folder_name)
    write_knowledge_base(EXAMPLES / "lookup")
