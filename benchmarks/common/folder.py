"""Reading what the trainer left in a run folder: metrics step by step, records, and completions with their texts."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

Split = Literal["train", "held_out"]
Values = dict[str, float | None]


@dataclass(frozen=True, slots=True)
class Series:
    """Metrics over steps: every list in `values` is as long as `steps`; None where a step had no such value."""

    steps: list[int] = field(default_factory=list)
    values: dict[str, list[float | None]] = field(default_factory=dict)

    @classmethod
    def of(cls, points: Iterable[tuple[int, Values]]) -> "Series":
        listed = list(points)
        names = dict.fromkeys(name for _, values in listed for name in values)
        return cls(
            [step for step, _ in listed], {name: [values.get(name) for _, values in listed] for name in names}
        )

    def __getitem__(self, name: str) -> list[float | None]:
        """One metric, by its name in `reinforge.metrics`; all None when no step had it."""
        return self.values.get(name, [None] * len(self.steps))

    def points(self, name: str) -> list[tuple[int, float]]:
        """(step, value) wherever there is a value."""
        return [
            (step, value) for step, value in zip(self.steps, self[name], strict=True) if value is not None
        ]


class Folder:
    """A run folder, while the run goes on or after it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def series(self, split: Split) -> Series:
        """Metrics of the steps (`train`) or of the evaluations (`held_out`; step 0 is the base model)."""
        lines = _whole_lines(self.path / "metrics.jsonl")
        return Series.of((line["step"], line["values"]) for line in lines if line["kind"] == split)

    def records(self, kind: str) -> list[dict[str, Any]]:
        """All records of one kind of `reinforge.records`, oldest first."""
        return [record for record in _whole_lines(self.path / "records.jsonl") if record["kind"] == kind]

    def completions(self, split: Split, step: int) -> list[dict[str, Any]]:
        """The completions of a step or evaluation, columns as in `worker.training.reporting.rollout_table`: `text`,
        `reward`,
        `advantage`, `length`, `entropies`, … ; empty when there is no such step. `rewards` and `item` are decoded."""
        for record in self.records("rollouts"):
            if record["split"] == split and record["step"] == step:
                content = (self.path / "blobs" / record["blob"]["sha256"]).read_bytes()
                rows: list[dict[str, Any]] = pq.read_table(pa.BufferReader(content)).to_pylist()
                return [
                    row | {"rewards": json.loads(row["rewards"]), "item": json.loads(row["item"])}
                    for row in rows
                ]
        return []


def _whole_lines(path: Path) -> Iterator[dict[str, Any]]:
    """A last line that is still being written is left out."""
    if not path.exists():
        return
    for line in path.read_bytes().splitlines(keepends=True):
        if line.endswith(b"\n"):
            yield json.loads(line)
