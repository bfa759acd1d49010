"""Types and helpers of the adapters from worked cases to the product's functions.

A case has a slot (1 to 4), a variant, inputs and params; its adapter calls the product with them and returns what it
found under the names of `expected`, all of them. An adapter reads every number from the case: another file of the
same schema brings other numbers, shapes and params for the same variants.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from worker.algorithm.rows import Rows

Case = dict[str, Any]
Outputs = dict[str, Any]
Adapter = Callable[[Case], Outputs]


def rows_of(
    values: Sequence[Sequence[float | None]],
    group: Sequence[int] | None = None,
    weights: Sequence[float] | None = None,
    *,
    lengths: Sequence[int] | None = None,
    mask: Tensor | None = None,
    **more: Any,
) -> Rows:
    """Rows with (N, K) values (`None` where a reward does not apply); one group unless told, one token each unless
    `lengths` or `mask` say otherwise. `more` are other fields of `Rows`."""
    count = len(values)
    if mask is None:
        sizes = torch.tensor(lengths if lengths is not None else [1] * count)
        mask = torch.arange(int(sizes.max()) if count else 0)[None, :] < sizes[:, None]
    table = [[float("nan") if value is None else float(value) for value in row] for row in values]
    fields: dict[str, Any] = {
        "group": torch.tensor(list(group) if group is not None else [0] * count),
        "values": torch.tensor(table, dtype=torch.float64),
        "weights": torch.tensor(list(weights or [1.0] * len(table[0])), dtype=torch.float64),
        "scorable": torch.ones(count, dtype=torch.bool),
        "mask": mask,
        "truncated": torch.zeros(count, dtype=torch.bool),
    }
    return Rows(**(fields | more))


def group_rows(rewards: Sequence[Sequence[float]], **more: Any) -> tuple[Rows, Tensor]:
    """Rows and rewards (N,) float64 of groups given one after another."""
    flat = [float(value) for group in rewards for value in group]
    numbers = [number for number, group in enumerate(rewards) for _ in group]
    return rows_of([[value] for value in flat], numbers, **more), torch.tensor(flat, dtype=torch.float64)


def in_groups(values: Tensor, rewards: Sequence[Sequence[float]]) -> list[list[float]]:
    """(N,) values cut again into the groups of `rewards`."""
    return [part.tolist() for part in values.split([len(group) for group in rewards])]


def all_rows(count: int) -> Tensor:
    return torch.ones(count, dtype=torch.bool)


def tensor(values: Any) -> Tensor:
    """float64; `null` becomes NaN."""

    def number(value: Any) -> Any:
        if isinstance(value, list):
            return [number(part) for part in value]
        return float("nan") if value is None else float(value)

    return torch.tensor(number(values), dtype=torch.float64)


def std_of(params: dict[str, Any]) -> str:
    """`sample` or `population`, however the case words it (`sample(ddof=1)`, `population over retained`)."""
    words = str(params.get("std", "sample"))
    if words.startswith(("sample", "population")):
        return words.split("(")[0].split()[0]
    raise ValueError(f"unusable std {words!r}: neither sample nor population")


def take(params: dict[str, Any], *names: str) -> dict[str, Any]:
    """The named params; KeyError names one that the case lacks."""
    return {name: params[name] for name in names}
