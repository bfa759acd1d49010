"""Metrics per value of a column of the dataset."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from worker.rollout.collect import Rollout

MOST = 20
"""Maximum number of values with their own metrics."""
LONGEST = 60


@dataclass(frozen=True, slots=True)
class Slices:
    column: str | None
    names: Mapping[str, str]
    """Value → its name in metrics."""

    @classmethod
    def of(cls, column: str | None, items: Sequence[Mapping[str, Any]]) -> "Slices":
        """The most frequent values of `column`; none without a column."""
        if column is None:
            return cls(None, {})
        counted = Counter(str(item[column]) for item in items if item.get(column) is not None)
        chosen = sorted(counted, key=lambda value: (-counted[value], value))[:MOST]
        return cls(column, {value: _metric_label(value) for value in chosen})

    def members(self, rollouts: Sequence[Rollout]) -> dict[str, Tensor]:
        """Mask of the rows with each value, (N,) bool, by the value's name."""
        if self.column is None:
            return {}
        row_names = [self.names.get(str(rollout.prompt.item.get(self.column))) for rollout in rollouts]
        return {
            name: torch.tensor([value == name for value in row_names])
            for name in sorted({value for value in row_names if value is not None})
        }

    def means(
        self, rollouts: Sequence[Rollout], columns: Mapping[str, Tensor], prefix: str = ""
    ) -> dict[str, float | None]:
        """`slice/<value>/<name>`: mean of each column (N,) over the value's rows, without NaN."""
        values: dict[str, float | None] = {}
        for slice_name, rows in self.members(rollouts).items():
            for name, column in columns.items():
                defined = column[rows & ~column.isnan()]
                key = f"{prefix}slice/{slice_name}/{name}"
                values[key] = float(defined.double().mean()) if len(defined) else None
        return values


def _metric_label(value: str) -> str:
    """Replace slashes, which separate parts of metric names, and unprintable characters."""
    plain = "".join(letter if letter.isprintable() and letter != "/" else "_" for letter in value)
    return plain[:LONGEST].strip() or "_"
