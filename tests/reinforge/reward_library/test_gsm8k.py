"""The mathematical reward on answers as GSM8K writes them: each reference gets 1, the same with another number 0.

The data set itself is not in the repository: those of its form are made here, always; the real 8,792 where
REINFORGE_SHARED has them.
"""

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from reinforge.reward_library.cases import CaseRow
from tests.reinforge.reward_library.conftest import Scorer

SHARED = Path(os.environ.get("REINFORGE_SHARED", Path(__file__).parents[4] / "shared")) / "data" / "gsm8k"
BATCH = 1024


def look_alikes(count: int) -> Iterator[dict[str, str]]:
    """Questions and worked answers with calculations in << >>, thousands with and without commas, money and sums."""
    rng = random.Random(5)
    for _ in range(count):
        per_box, boxes, lost = rng.randint(2, 900), rng.randint(2, 90), rng.randint(1, 50)
        total = per_box * boxes
        left = total - lost if rng.random() < 0.9 else lost - total
        written = f"{left:,}" if rng.random() < 0.5 else str(left)
        unit = rng.choice(["$", ""])
        yield {
            "question": f"A shop has {boxes} boxes of {per_box} nails and loses {lost}. How many are left?",
            "answer": f"There are {per_box}*{boxes}=<<{per_box}*{boxes}={total}>>{total:,} nails.\n"
            f"So {unit}{total:,}-{lost}={unit}<<{total}-{lost}={left}>>{left} are left.\n#### {written}",
        }


def real() -> Iterator[dict[str, str]]:
    for name in ("train", "test"):
        with (SHARED / f"{name}.jsonl").open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def with_another_number(answer: str, rng: random.Random) -> str:
    """The answer with one digit of its last number changed."""
    steps, mark, number = answer.rpartition("####")
    places = [place for place, character in enumerate(number) if character.isdigit()]
    place = rng.choice(places)
    digit = rng.choice(
        [d for d in "0123456789" if d != number[place] and not (d == "0" and place == places[0])]
    )
    return f"{steps}{mark}{number[:place]}{digit}{number[place + 1 :]}"


def check(scored: Scorer, rows: list[dict[str, str]]) -> None:
    rng = random.Random(7)
    for start in range(0, len(rows), BATCH):
        completions = [
            (CaseRow(item=row, prompt=row["question"]), row["answer"]) for row in rows[start : start + BATCH]
        ]
        changed = [(row, with_another_number(answer, rng)) for row, answer in completions]
        right, wrong = scored("math_equal", completions), scored("math_equal", changed)
        assert [result.value for result in right] == [1.0] * len(completions)
        assert [result.value for result in wrong] == [0.0] * len(completions)


def test_references_of_the_form_get_1_and_others_0(scored: Scorer) -> None:
    check(scored, list(look_alikes(500)))


@pytest.mark.skipif(
    not SHARED.is_dir(), reason=f"GSM8K is not in the repository; set REINFORGE_SHARED (looked in {SHARED})"
)
def test_all_8792_references_of_gsm8k_get_1_and_others_0(scored: Scorer) -> None:
    rows = list(real())
    assert len(rows) == 8792
    check(scored, rows)
