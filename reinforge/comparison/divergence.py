"""The first difference between two runs: completions and metrics of one step, compared bit by bit."""

import math
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, Literal

from reinforge.metrics import describe
from reinforge.schemas.divergence import DifferenceKind, MetricDifference, RowDifference

Split = Literal["train", "held_out"]
Row = Mapping[str, Any]
"""A completion: values by column of a step's Parquet file."""

COLUMNS = (
    "prompt_no", "sample_no", "prompt_hash", "prompt", "token_ids", "tokens", "sampler_logprobs", "reward",
    "advantage", "trainer_logprobs", "entropies", "branches",
)  # fmt: skip
MOST_CHARACTERS = 500
_MEASURED = frozenset({"s", "ms", "1/s", "tokens/s", "GiB"})
"""Units of time and memory, which differ between any two runs."""
_STAGES: tuple[tuple[DifferenceKind, str], ...] = (
    ("prompt", "prompt_hash"),
    ("token", "token_ids"),
    ("sampler_logprobs", "sampler_logprobs"),
    ("reward", "reward"),
    ("advantage", "advantage"),
    ("trainer_logprobs", "trainer_logprobs"),
    ("entropies", "entropies"),
)
"""(kind, column), in the order of a step's computations."""


def row_difference(
    step: int, split: Split, first: Sequence[Row], second: Sequence[Row]
) -> RowDifference | None:
    """First difference of a step in two runs, by `_STAGES`. first, second: rows by prompt and sample."""
    first, second = _conversations(first), _conversations(second)
    places = [[(row["prompt_no"], row["sample_no"]) for row in rows] for rows in (first, second)]
    if places[0] != places[1]:
        one, other = next(pair for pair in zip_longest(*places) if pair[0] != pair[1])
        prompt_no, sample_no = min(place for place in (one, other) if place is not None)
        return RowDifference(
            step=step, split=split, what="completions", prompt_no=prompt_no, sample_no=sample_no, token=None,
            values=[len(first), len(second)], prompt=None, before=None,
        )  # fmt: skip
    for what, column in _STAGES:
        for row, other_row in zip(first, second, strict=True):
            if not _equal(row.get(column), other_row.get(column)):
                return _difference(step, split, what, column, row, other_row)
    return None


def _conversations(rows: Sequence[Row]) -> list[Row]:
    return [dict(row) | dict(part) for row in rows for part in (*(row.get("branches") or ()), row)]


def metric_difference(
    step: int, kind: Split, first: Mapping[str, float | None], second: Mapping[str, float | None]
) -> MetricDifference | None:
    """The first metric that differs, ignoring times and memory."""
    for key in dict.fromkeys((*first, *second)):
        if not is_measured(key) and not _equal(first.get(key), second.get(key)):
            return MetricDifference(step=step, kind=kind, key=key, values=[first.get(key), second.get(key)])
    return None


def machine_differences(expected: dict[str, Any], facts: dict[str, Any]) -> dict[str, list[Any]]:
    """Names of versions, engine, device and machine facts that differ → both values."""

    def flat(source: dict[str, Any]) -> dict[str, Any]:
        names = ("engine", "device", "precision", "torch_threads")
        values = {name: source.get(name) for name in names}
        return values | (source.get("versions") or {}) | (source.get("machine") or {})

    one, other = flat(expected), flat(facts)
    return {
        name: [one.get(name), other.get(name)]
        for name in dict.fromkeys((*one, *other))
        if one.get(name) != other.get(name)
    }


def is_measured(key: str) -> bool:
    return key.startswith(("time/", "throughput/", "memory/")) or describe(key).unit in _MEASURED


def first_index(first: Sequence[Any] | None, second: Sequence[Any] | None) -> int:
    pairs = zip(first or (), second or (), strict=False)
    shorter = min(len(first or ()), len(second or ()))
    return next((index for index, (one, other) in enumerate(pairs) if not _equal(one, other)), shorter)


def _difference(
    step: int, split: Split, what: DifferenceKind, column: str, first: Row, second: Row
) -> RowDifference:
    token, values = None, [row.get(column) for row in (first, second)]
    if what == "prompt":
        values = [str(row.get("prompt") or "")[-MOST_CHARACTERS:] for row in (first, second)]
    elif what not in ("reward", "advantage"):
        token = first_index(first.get(column), second.get(column))
        texts = "tokens" if what == "token" else column
        values = [_at(row.get(texts), token) for row in (first, second)]
    return RowDifference(
        step=step,
        split=split,
        what=what,
        prompt_no=first["prompt_no"],
        sample_no=first["sample_no"],
        token=token,
        values=values,
        prompt=str(first.get("prompt") or "")[-MOST_CHARACTERS:],
        before=None if token is None else "".join((first.get("tokens") or [])[:token])[-MOST_CHARACTERS:],
    )


def _at(values: Sequence[Any] | None, index: int) -> Any:
    return values[index] if values is not None and index < len(values) else None


def _equal(first: Any, second: Any) -> bool:
    if isinstance(first, list) and isinstance(second, list):
        return first == second or (
            len(first) == len(second) and all(map(_equal, first, second))  # NaN
        )
    both_nan = (
        isinstance(first, float) and isinstance(second, float) and math.isnan(first) and math.isnan(second)
    )
    return both_nan or bool(first == second)
