"""Deterministic split into training and held-out rows."""

import random
from collections.abc import Hashable, Iterator, Sequence

from reinforge.dataset.errors import DatasetError

DEFAULT_SHARE = 0.1
DEFAULT_MOST = 256


def split(rows_count: int, held_out: int | float | None, seed: int) -> tuple[list[int], list[int]]:
    """(training indices, held-out indices), 0-based, ascending. Raises DatasetError `invalid_held_out`.

    held_out: a number of rows (int), a share (float), or None: a tenth, at most 256. Only `Random.random` is
    used, because it is the same on every Python version.
    """
    count = held_out_count(rows_count, held_out)
    drawn = _drawn(rows_count, seed)
    held = {next(drawn) for _ in range(count)}
    return [index for index in range(rows_count) if index not in held], sorted(held)


def split_together(
    keys: Sequence[Hashable], held_out: int | float | None, seed: int
) -> tuple[list[int], list[int]]:
    """Like `split`; of rows with equal keys, all are held out or none is."""
    count = held_out_count(len(keys), held_out)
    rows: dict[Hashable, list[int]] = {}
    for index, key in enumerate(keys):
        rows.setdefault(key, []).append(index)
    groups = list(rows.values())
    held: set[int] = set()
    for place in _drawn(len(groups), seed) if count else ():
        if len(held) + len(groups[place]) <= count:
            held.update(groups[place])
        if len(held) == count:
            break
    if count and not held and len(groups) > 1:
        smallest = min(groups, key=len)
        held.update(smallest)
    return [index for index in range(len(keys)) if index not in held], sorted(held)


def _drawn(count: int, seed: int) -> Iterator[int]:
    generator = random.Random(seed)
    # Fisher-Yates; a dict stands for the array, most of which never moves when only a few are drawn.
    moved: dict[int, int] = {}
    for place in range(count):
        other = place + int(generator.random() * (count - place))
        yield moved.get(other, other)
        moved[other] = moved.get(place, place)


def held_out_count(rows_count: int, held_out: int | float | None) -> int:
    if rows_count < 1:
        raise DatasetError("A dataset without rows cannot be split.", code="empty_file")
    if held_out is None:
        held_out = min(DEFAULT_MOST / rows_count, DEFAULT_SHARE)
    if isinstance(held_out, float):
        if not 0 <= held_out < 1:
            raise _invalid(f"A held-out share of {held_out} is not between 0 and 1.")
        if held_out == 0 or rows_count == 1:
            return 0
        return min(max(1, round(rows_count * held_out)), rows_count - 1)
    if held_out < 0:
        raise _invalid("The number of held-out rows is negative.")
    if rows_count == 1:
        return 0
    if held_out >= rows_count:
        raise _invalid(f"{held_out} held-out rows leave none of {rows_count} for training.")
    return held_out


def _invalid(message: str) -> DatasetError:
    hint = "Give a number of rows below the dataset's, or a share between 0 and 1."
    return DatasetError(message, code="invalid_held_out", hint=hint, param="data.held_out_rows")
