"""Which rows train and which are held out, as a function of the number of rows and a seed alone."""

import random

from reinforge.dataset.errors import DatasetError

DEFAULT_SHARE = 0.1
DEFAULT_MOST = 256


def split(rows_count: int, held_out: int | float | None, seed: int) -> tuple[list[int], list[int]]:
    """(training indices, held-out indices), 0-based, both ascending and together every row once.

    `held_out` is a number of rows (int), a share between 0 and 1 (float), or None: a tenth, at most 256. A
    share holds out at least one row and leaves at least one for training. A single row is never held out. The
    same arguments give the same split on every Python version (only `Random.random` is relied on).

    Raises DatasetError `invalid_held_out` when no row would be left for training.
    """
    count = _held_out_count(rows_count, held_out)
    generator = random.Random(seed)
    # Fisher-Yates for the first `count` places; a dict stands for the array, most of which never moves.
    moved: dict[int, int] = {}
    chosen = []
    for place in range(count):
        other = place + int(generator.random() * (rows_count - place))
        chosen.append(moved.get(other, other))
        moved[other] = moved.get(place, place)
    held = set(chosen)
    return [index for index in range(rows_count) if index not in held], sorted(chosen)


def _held_out_count(rows_count: int, held_out: int | float | None) -> int:
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
