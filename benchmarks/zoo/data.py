"""Rows of the failures: the demo's additions, and what users do to theirs."""

import json
import random
from pathlib import Path
from typing import Any

from common.preset_jobs import write_rows

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "arithmetic"
Row = dict[str, Any]


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


def in_template(row: Row) -> Row:
    """The prompt of another model family, written into the text."""
    return with_prompt(row, f"### Instruction: {row['a']}+{row['b']}= ### Response:")


def answers_shifted(source: list[Row]) -> list[Row]:
    """The answers of the next row, as after a column was sorted alone."""
    return [
        row | {"answer": other["answer"]} for row, other in zip(source, source[1:] + source[:1], strict=True)
    ]


def write_all(folder: Path) -> None:
    """Every data set of the failures, under its name."""
    train, held_out = rows("additions.jsonl"), rows("heldout.jsonl")
    sets = {
        "additions": train,
        "held-out": held_out,
        "held-out-copied": train[:64],
        "two-prompts": train[:2],
        "large": large_sums(256, 0),
        "large-held-out": large_sums(64, 1),
        "template": [in_template(row) for row in train],
        "template-held-out": [in_template(row) for row in held_out],
        "shifted": answers_shifted(train),
        "shifted-held-out": answers_shifted(held_out),
    }  # fmt: skip
    write_rows(folder / "solutions")
    for name, content in sets.items():
        text = "".join(json.dumps(row) + "\n" for row in content)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")


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
