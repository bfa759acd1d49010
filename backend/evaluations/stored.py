"""Reads stored completions from Parquet objects."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from backend.jobs.monitoring.step_tables import every_row, opened, row_group, value_of
from reinforge.dataset import ColumnRoles, item_of

COLUMNS = ["prompt_no", "sample_no", "text", "item", "prompt_messages", "rewards"]


@dataclass(frozen=True, slots=True)
class Stored:
    step: int
    prompt_no: int
    sample_no: int
    text: str
    item: dict[str, Any]
    prompt: list[dict[str, Any]]
    results: dict[str, dict[str, Any]]

    def row(self) -> dict[str, Any]:
        return {"completion": self.text, "item": self.item, "prompt": self.prompt}


def every(tables: Sequence[tuple[int, str, int]], most: int) -> int:
    total = sum(count for _, _, count in tables)
    return max(1, -(-total // most))


def read_groups(path: str, step: int, stride: int, start: int, roles: ColumnRoles) -> list[list[Stored]]:
    groups = []
    with opened(path) as file:
        for number in range(start % stride, file.num_row_groups, stride):
            groups.append([_stored(step, line, roles) for line in row_group(file, number, COLUMNS)])
    return groups


def read_places(path: str, step: int, places: set[tuple[int, int]]) -> Iterator[Stored]:
    """Completions whose (prompt_no, sample_no) is in `places`."""
    with opened(path) as file:
        for line in every_row(file, COLUMNS):
            if (line["prompt_no"], line["sample_no"]) in places:
                yield _stored(step, line, None)


def _stored(step: int, line: dict[str, Any], roles: ColumnRoles | None) -> Stored:
    return Stored(
        step=step,
        prompt_no=line["prompt_no"],
        sample_no=line["sample_no"],
        text=line["text"],
        item=item_of(value_of(line["item"], "{}"), roles),
        prompt=value_of(line["prompt_messages"], "[]"),
        results={result["name"]: result for result in value_of(line["rewards"], "[]")},
    )
