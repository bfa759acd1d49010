"""The small jobs that the ledger's arms are made of: rows, rewards and a recipe, all on the starter model.

Rows are drawn by the rules of `worker.starter.corpus`, so that what is held out here was never in its pretraining.
"""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

from worker.starter.corpus import demo_rows

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WORK = ROOT / ".reinforge" / "claims"
"""Of the ledger: rows, run folders, results of single runs. Not committed."""

Row = dict[str, Any]
Spec = dict[str, Any]


def reward(name: str, **more: Any) -> Spec:
    """A reward of `rewards/`, its code inside the specification: other code makes another run."""
    source = (HERE / "rewards" / f"{name}.py").read_text(encoding="utf-8")
    return {"type": "python", "name": name, "source": source, **more}


_ROWS: dict[Path, str] = {}


def dataset(rows: Iterable[Row]) -> str:
    """The path of a file with these rows, named by its content; `write_rows` puts it there."""
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path = WORK / "rows" / f"{hashlib.sha256(text.encode()).hexdigest()[:12]}.jsonl"
    _ROWS[path] = text
    return str(path)


def write_rows() -> None:
    """The files of all datasets."""
    for path, text in _ROWS.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def sums(count: int, *, held_out: bool, ask: str = "{a}+{b}=", **more: Any) -> list[Row]:
    """Additions as in the demo, asked for in another way if wanted."""
    return [
        {"prompt": ask.format(a=row["a"], b=row["b"]), "answer": row["answer"], **more}
        for row in demo_rows(0, count, held_out=held_out)
    ]


def out_of_reach(count: int) -> list[Row]:
    """Sums of three-digit numbers, which the starter model never gets right."""
    random = Random(0)
    pairs = [(random.randint(200, 899), random.randint(200, 899)) for _ in range(count)]
    return [{"prompt": f"{a}+{b}=", "answer": str(a + b)} for a, b in pairs]


def riddles() -> list[Row]:
    """Prompts that mean nothing to the starter model; it answers with some number."""
    return [{"prompt": f"{sign}{letter}", "answer": ""} for sign in "?!#&" for letter in "abcd"]


def job(
    rows: Iterable[Row],
    held_out: Iterable[Row],
    rewards: list[Spec],
    algorithm: Spec,
    *,
    steps: int = 20,
    prompts: int = 8,
    group: int = 8,
    tokens: int = 56,
    rate: float = 6e-4,
    every: int = 20,
    samples: int = 4,
    **data: Any,
) -> Spec:
    """A job of the ledger's recipe; whatever an arm changes is a keyword."""
    return {
        "model": "starter-arith",
        "data": {"dataset": dataset(rows), "held_out": dataset(held_out), **data},
        "rewards": rewards,
        "algorithm": algorithm,
        "rollout": {
            "prompts_per_step": prompts,
            "completions_per_prompt": group,
            "max_completion_tokens": tokens,
        },
        "adapter": {"rank": 16},
        "optimizer": {"learning_rate": rate},
        "evaluation": {"every_steps": every, "rows": 64, "samples_per_row": samples},
        "limits": {"steps": steps, "checkpoint_every": 1000},
    }
