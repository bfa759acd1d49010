"""The two tasks of `benchmarks/defaults.py`, as the parts of a `JobSpec` that differ: rows and rewards."""

import json
from pathlib import Path
from typing import Any

from worker.starter.corpus import demo_rows

_RIGHT = '''
def grade(sample, item):
    """1 for the right sum, with or without its working."""
    text = sample["output_text"].rpartition("</think>")[2]
    return float(text == f"<answer>{item['answer']}</answer>")
'''
_EVEN = '''
def grade(sample, item):
    """1 for an even number, given at once; 0 where a working comes before it."""
    text = sample["output_text"]
    answer = text[len("<answer>") : -len("</answer>")]
    return float(text == f"<answer>{answer}</answer>" and answer.isdigit() and answer[-1] in "02468")
'''
TASKS = {
    "additions": ("{a}+{b}=", _RIGHT),
    "even": ("What is {a} + {b}?", _EVEN),
}
"""How the row asks, and the reward. The first is learned by working sums out, the second by not doing so and
writing other digits: no arithmetic, so that a model of any width can."""


def task_data(task: str, folder: Path) -> dict[str, Any]:
    """`data` and `rewards` of a task's job; its rows are written into `folder`."""
    asking, source = TASKS[task]
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for part, count, held_out in (("dataset", 512, False), ("held_out", 64, True)):
        path = folder / f"{task}-{part}.jsonl"
        lines = [
            json.dumps({"prompt": asking.format(a=row["a"], b=row["b"]), "answer": row["answer"]}) + "\n"
            for row in demo_rows(0, count, held_out=held_out)
        ]
        path.write_text("".join(lines), encoding="utf-8")
        paths[part] = str(path)
    return {
        "data": {**paths, "columns": {"answer": "answer"}},
        "rewards": [{"type": "python", "name": task, "source": source}],
    }
