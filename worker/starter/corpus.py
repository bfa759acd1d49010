"""Training text of the starter model and data of the demo: additions of two numbers from 0 to 99.

In 3 of 4 completions the model answers at once and is usually wrong; in 1 of 4 it adds column by column and is nearly
always right, which reinforcement then favours:

    47+85= <answer>122</answer>                                    hasty
    47+85= <think>7+5=12,4+8+1=13</think><answer>132</answer>      worked
"""

import argparse
import json
import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from worker.starter.phrasings import DEMO, ask

LARGEST = 99
HASTY_SHARE = 0.75
TENS_SLIP, ONES_SLIP = 0.5, 0.3
HASTY_WRONG_SHARE = 1 - (1 - TENS_SLIP) * (1 - ONES_SLIP)  # 0.65
WORKED_WRONG_SHARE = 0.05
DIGITS_SHARE = 0.3

Habit = Literal["hasty", "worked"]


@dataclass(frozen=True)
class Example:
    a: int
    b: int
    habit: Habit
    answer: int
    prompt: str
    completion: str

    @property
    def right(self) -> bool:
        return self.answer == self.a + self.b


def is_held_out(a: int, b: int) -> bool:
    """Whether a pair is held out: a tenth of the two-digit pairs, (a, b) together with (b, a)."""
    low, high = sorted((a, b))
    return low >= 10 and zlib.crc32(f"{low}+{high}".encode()) % 10 == 0


def draw_pair(rng: random.Random) -> tuple[int, int]:
    while True:
        a, b = rng.randint(0, LARGEST), rng.randint(0, LARGEST)
        if not is_held_out(a, b):
            return a, b


def draw_digits(rng: random.Random) -> tuple[int, int]:
    """Draw a pair of numbers: one has a single digit, and in half of the draws both have."""
    a, b = rng.randint(0, 9), rng.randint(0, LARGEST if rng.random() < 0.5 else 9)
    return (a, b) if rng.random() < 0.5 else (b, a)


def question(a: int, b: int) -> str:
    return DEMO.format(a=a, b=b)


def tagged(answer: int) -> str:
    return f"<answer>{answer}</answer>"


def working(
    a: int, b: int, *, carry_lost: bool = False, ones_off: int = 0, tens_off: int = 0
) -> tuple[str, int]:
    """Return the columns from right to left and the sum. ones_off, tens_off: errors in a column."""
    ones = a % 10 + b % 10 + ones_off
    carry = 1 if ones >= 10 and not carry_lost else 0
    tens = a // 10 + b // 10 + carry + tens_off
    columns = f"{a % 10}+{b % 10}={ones},{a // 10}+{b // 10}{'+1' if carry else ''}={tens}"
    return columns, tens * 10 + ones % 10


def hasty_sum(a: int, b: int, rng: random.Random) -> int:
    """Return the sum with random, independent errors: in the tens in 1 of 2 draws, in the ones in 3 of 10."""
    tens, ones = divmod(a + b, 10)
    if rng.random() < TENS_SLIP:
        carried = a % 10 + b % 10 >= 10
        tens += -1 if tens > 0 and rng.random() < (0.8 if carried else 0.5) else 1
    if rng.random() < ONES_SLIP:
        ones = rng.choice([digit for digit in (ones - 1, ones + 1) if 0 <= digit <= 9])
    return tens * 10 + ones


def hasty(a: int, b: int, rng: random.Random) -> Example:
    answer = hasty_sum(a, b, rng)
    return Example(a, b, "hasty", answer, ask(a, b, rng), tagged(answer))


def worked(a: int, b: int, rng: random.Random, *, wrong_share: float = WORKED_WRONG_SHARE) -> Example:
    columns, answer = working(a, b)
    if rng.random() < wrong_share:
        columns, answer = _spoiled_working(a, b, rng)
    return Example(a, b, "worked", answer, ask(a, b, rng), f"<think>{columns}</think>{tagged(answer)}")


def _spoiled_working(a: int, b: int, rng: random.Random) -> tuple[str, int]:
    ones, tens = a % 10 + b % 10, a // 10 + b // 10
    slips = [working(a, b, ones_off=1), working(a, b, tens_off=1)]
    if ones > 0:
        slips.append(working(a, b, ones_off=-1))
    if tens > 0:
        slips.append(working(a, b, tens_off=-1))
    if ones >= 10:
        slips.append(working(a, b, carry_lost=True))
    return rng.choice(slips)


def habits(rng: random.Random) -> Iterator[Example]:
    while True:
        a, b = draw_pair(rng)
        yield hasty(a, b, rng) if rng.random() < HASTY_SHARE else worked(a, b, rng)


def sizes(rng: random.Random) -> Iterator[Example]:
    while True:
        a, b = draw_digits(rng) if rng.random() < DIGITS_SHARE else draw_pair(rng)
        yield hasty(a, b, rng) if rng.random() < HASTY_SHARE else worked(a, b, rng)


def workings(rng: random.Random) -> Iterator[Example]:
    """Yield correctly worked examples, for the first phase, so that the model learns to work sums out."""
    while True:
        a, b = draw_pair(rng)
        yield worked(a, b, rng, wrong_share=0.0)


def demo_rows(seed: int, count: int, *, held_out: bool) -> list[dict[str, object]]:
    pairs = [(a, b) for a in range(LARGEST + 1) for b in range(LARGEST + 1) if is_held_out(a, b) == held_out]
    return [
        {"messages": [{"role": "user", "content": question(a, b)}], "answer": str(a + b), "a": a, "b": b}
        for a, b in random.Random(seed).sample(pairs, count)
    ]


def write_demo(folder: Path, *, seed: int = 0, train: int = 512, held_out: int = 64) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, count, is_held in (("additions.jsonl", train, False), ("heldout.jsonl", held_out, True)):
        lines = [json.dumps(row) + "\n" for row in demo_rows(seed, count, held_out=is_held)]
        (folder / name).write_text("".join(lines), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the demo's data: additions.jsonl and heldout.jsonl.")
    parser.add_argument("--out", type=Path, required=True, help="folder to write into")
    parser.add_argument("--seed", type=int, default=0, help="seed for drawing pairs (default: 0)")
    arguments = parser.parse_args()
    write_demo(arguments.out, seed=arguments.seed)


if __name__ == "__main__":
    main()
