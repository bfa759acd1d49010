"""What really happened in a run, from its completions: right sums, whatever the reward and the answer column say."""

import json
import re
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from common.folder import Folder, Series

from zoo.failures import Onset

WINDOW = 3
"""Steps whose mean is compared with the start."""
ACCURACY_LOSS, GROWTH, KL = 0.15, 1.3, 0.05
EXAMPLES, CHARACTERS = 2, 80
_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)


def right(text: str, item: dict[str, Any]) -> bool:
    answers = _ANSWER.findall(text)
    return bool(answers) and answers[-1].strip() == str(item["a"] + item["b"])


def read(folder: Folder) -> dict[str, Any]:
    """`accuracy` per step and evaluation, and completions of the first and the last step."""
    accuracy: dict[str, list[list[float]]] = {"train": [], "held_out": []}
    examples: dict[str, list[str]] = {}
    for record in folder.records("rollouts"):
        content = (folder.path / "blobs" / record["blob"]["sha256"]).read_bytes()
        table = pq.read_table(pa.BufferReader(content), columns=["text", "item"]).to_pylist()
        texts = [row["text"] for row in table]
        marks = [right(row["text"], json.loads(row["item"])) for row in table]
        accuracy[record["split"]].append([record["step"], round(statistics.fmean(marks), 3)])
        if record["split"] == "train":
            shortened = [text[:CHARACTERS] for text in texts[:EXAMPLES]]
            examples = {"first": examples.get("first", shortened), "last": shortened}
    return {"accuracy": accuracy, "examples": examples}


def onset(rule: Onset, train: Series, accuracy: dict[str, list[list[float]]]) -> int | None:
    """The step from which on the failure can be measured; None where it never can."""
    if rule == "start":
        return 1
    if rule == "accuracy_falls":
        base = accuracy["held_out"][0][1]
        points = [(int(step), value) for step, value in accuracy["train"]]
        return _first(points, lambda value: value <= base - ACCURACY_LOSS)
    if rule == "held_out_falls":
        base = accuracy["held_out"][0][1]
        return next(
            (int(step) for step, value in accuracy["held_out"] if value <= base - ACCURACY_LOSS), None
        )
    if rule == "kl_grows":
        return _first(train.points("kl/mean"), lambda value: value >= KL)
    metric = "completions/length_mean" if rule == "length_grows" else "entropy/mean"
    points = train.points(metric)
    if not points:
        return None
    start = points[0][1]
    return _first(points, lambda value: value >= GROWTH * start)


def _first(points: Sequence[tuple[int, float]], holds: Callable[[float], bool]) -> int | None:
    values = [value for _, value in points]
    for end in range(1, len(points) + 1):
        if holds(statistics.fmean(values[max(0, end - WINDOW) : end])):
            return points[end - 1][0]
    return None
