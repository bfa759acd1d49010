"""Rows of the failures: additions in two wordings, and what users do to theirs.

Thresholds are fitted on the demo's rows. What is reported was measured on other pairs of numbers, asked in words.
"""

import json
import random
from pathlib import Path
from typing import Any

from worker.starter.corpus import demo_rows, working
from worker.starter.phrasings import MEASURED

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "arithmetic"
Row = dict[str, Any]
IN_WORDS = "words"
"""Folder of the data sets in words."""


def rows(name: str) -> list[Row]:
    return [json.loads(line) for line in (EXAMPLE / name).read_text(encoding="utf-8").splitlines()]


def with_prompt(row: Row, prompt: str) -> Row:
    return row | {"messages": [{"role": "user", "content": prompt}]}


def addition(a: int, b: int) -> Row:
    return {"messages": [{"role": "user", "content": f"{a}+{b}="}], "answer": str(a + b), "a": a, "b": b}


def large_sums(count: int, seed: int) -> list[Row]:
    """Four digits each, of which the starter model has read none."""
    rng = random.Random(seed)
    return [addition(rng.randint(1000, 9999), rng.randint(1000, 9999)) for _ in range(count)]


def in_words(source: list[Row], seed: int) -> list[Row]:
    """The same sums, each in one of the phrasings that the starter model has read, the demo's apart."""
    rng = random.Random(seed)
    return [with_prompt(row, rng.choice(MEASURED[1:]).format(a=row["a"], b=row["b"])) for row in source]


def in_template(row: Row) -> Row:
    """The prompt of another model family, written into the text."""
    return with_prompt(row, f"### Instruction: {row['messages'][0]['content']} ### Response:")


def answers_shifted(source: list[Row]) -> list[Row]:
    """The answers of the next row, as after a column was sorted alone."""
    return [
        row | {"answer": other["answer"]} for row, other in zip(source, source[1:] + source[:1], strict=True)
    ]


def with_solution(row: Row) -> Row:
    """For presets that repair wrong completions."""
    columns, total = working(row["a"], row["b"])
    return row | {"solution": f"<think>{columns}</think><answer>{total}</answer>"}


def write_all(folder: Path) -> None:
    """Every data set of the failures, under its name, in both wordings."""
    train, held_out = rows("additions.jsonl"), rows("heldout.jsonl")
    _write(folder, train, held_out, large_sums(256, 0), large_sums(64, 1))
    _write(
        folder / IN_WORDS,
        in_words(demo_rows(7, 512, held_out=False), 0),
        in_words(demo_rows(8, 64, held_out=True), 1),
        in_words(large_sums(256, 2), 2),
        in_words(large_sums(64, 3), 3),
    )


def _write(
    folder: Path, train: list[Row], held_out: list[Row], large: list[Row], large_held_out: list[Row]
) -> None:
    sets = {
        "additions": train,
        "held-out": held_out,
        "held-out-copied": train[:64],
        "two-prompts": train[:2],
        "large": large,
        "large-held-out": large_held_out,
        "template": [in_template(row) for row in train],
        "template-held-out": [in_template(row) for row in held_out],
        "shifted": answers_shifted(train),
        "shifted-held-out": answers_shifted(held_out),
        "solutions/additions": [with_solution(row) for row in train],
    }  # fmt: skip
    for name, content in sets.items():
        path = folder / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in content), encoding="utf-8")


def facts(folder: Path, train: str, held_out: str | None) -> dict[str, int]:
    """What a server says of a job's data when it is uploaded."""
    prompts = [_prompts(folder / f"{name}.jsonl") for name in filter(None, (train, held_out))]
    return {
        "train_rows": len(prompts[0]),
        "train_prompts": len(set(prompts[0])),
        "held_out_rows": len(prompts[-1]) if held_out else 0,
        "leaked_rows": sum(prompt in set(prompts[0]) for prompt in prompts[-1]) if held_out else 0,
    }


def _prompts(path: Path) -> list[str]:
    return [
        json.dumps(json.loads(line)["messages"]) for line in path.read_text(encoding="utf-8").splitlines()
    ]
