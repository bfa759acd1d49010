"""Equal prompts in a dataset, and held-out prompts that are trained on: what a child process works out.

Memory is bounded by `MOST_ROWS` keys of 8 bytes with the set that finds equal ones (about 100 bytes a row together),
and by the sequences of `near`. The file is read three times, and nothing of it is kept but the examples' texts.
"""

import time
from array import array
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from backend.datasets.leakage.near_duplicates import MOST_SEQUENCES, NearIndex, sequences
from reinforge.dataset import (
    DatasetError,
    Format,
    PromptTemplate,
    iter_accepted,
    normalised,
    prompt_key,
    render_messages,
    split,
    split_together,
)
from reinforge.schemas.dataset_reports import Duplicates, Leak, Leakage, RepeatedPrompt
from reinforge.schemas.datasets import PromptView

MOST_ROWS = 2_000_000
EXAMPLES = 20
TEXT = 300
_NO_PROMPT = 0
"""Key of a row that cannot become a prompt; such rows equal none."""


@dataclass(frozen=True)
class Source:
    """A dataset's file, to be read in another process."""

    path: str
    format: Format
    rows: int
    view: str
    """`PromptView` as JSON."""

    def prompts(self, wanted: Callable[[int], bool] | None = None) -> Iterator[tuple[str, str] | None]:
        """(normalised, as it stands) of each row's prompt; None for a row that has none or is not wanted."""
        how = PromptView.model_validate_json(self.view)
        template = PromptTemplate.parse(how.prompt_template) if how.prompt_template else None
        for index, row in enumerate(islice(iter_accepted(Path(self.path), self.format), MOST_ROWS)):
            if wanted is not None and not wanted(index):
                yield None
                continue
            try:
                messages = render_messages(row, how.columns, template)
            except DatasetError:
                yield None
                continue
            yield normalised(messages), str(messages[-1]["content"])[:TEXT]


@dataclass(frozen=True)
class Held:
    """What is held out: rows of the dataset by seed, or another dataset."""

    rows: int | None = None
    seed: int = 0
    split_by: Literal["row", "prompt"] = "row"
    other: Source | None = None


def compare(source: Source, held: Held) -> dict[str, Any]:
    """The fields of a `DatasetOverlap` that need the rows. Raises DatasetError for a split that cannot be."""
    began = time.monotonic()
    keys = _keys(source)
    repeated = _repeated(keys)
    found: dict[str, Any] = {
        "compared": len(keys),
        "without_prompt": sum(1 for key in keys if key == _NO_PROMPT),
        "duplicates": _duplicates(source, keys, repeated).model_dump(),
        "leakage": None,
    }
    leakage = _from_other(source, keys, held.other) if held.other else _from_split(source, keys, held)
    if leakage is not None:
        found["leakage"] = leakage.model_dump()
    return found | {"seconds": round(time.monotonic() - began, 1)}


def split_by_prompt(
    path: str, format: Format, view: str, held_out: int | None, seed: int
) -> tuple[list[int], list[int]]:
    """The rows that train and those held out, equal prompts together. Raises DatasetError `invalid_held_out`."""
    return split_together(_apart(_keys(Source(path, format, 0, view))), held_out, seed)


def _keys(source: Source) -> "array[int]":
    return array("Q", (_NO_PROMPT if each is None else prompt_key(each[0]) or 1 for each in source.prompts()))


def _repeated(keys: Sequence[int]) -> Counter[int]:
    """Key → rows, for prompts of several rows."""
    seen: set[int] = set()
    repeated: Counter[int] = Counter()
    for key in keys:
        if key in seen:
            repeated[key] += 1
        elif key != _NO_PROMPT:
            seen.add(key)
    return Counter({key: count + 1 for key, count in repeated.items()})


def _duplicates(source: Source, keys: Sequence[int], repeated: Counter[int]) -> Duplicates:
    shown = {
        key: RepeatedPrompt(text="", count=count, rows=[]) for key, count in repeated.most_common(EXAMPLES)
    }
    for row, key in enumerate(keys):
        if key in shown and len(shown[key].rows) < 10:
            shown[key].rows.append(row)
    wanted = {example.rows[0]: example for example in shown.values()}
    if wanted:
        for row, each in enumerate(islice(source.prompts(wanted.__contains__), max(wanted) + 1)):
            if each is not None:
                wanted[row].text = each[1]
    return Duplicates(
        prompts=len(repeated),
        rows=repeated.total() - len(repeated),
        examples=list(shown.values()),
    )


def _from_split(source: Source, keys: Sequence[int], held: Held) -> Leakage | None:
    """The split of all rows; rows past `MOST_ROWS` are not compared."""
    if held.split_by == "prompt":
        train, kept = split_together(_apart(keys), held.rows, held.seed)
    else:
        train, kept = split(source.rows, held.rows, held.seed)
    if not kept:
        return None
    search = _Search(kept, {keys[row] for row in kept if row < len(keys)} - {_NO_PROMPT})
    chosen = set(kept)
    for row, each in enumerate(source.prompts(chosen.__contains__)):
        if each is not None:
            search.add_held_out(row, each)
    search.index()
    for row, each in enumerate(source.prompts(search.wanted(keys, chosen))):
        if each is not None:
            search.look(row, keys[row], each)
    return search.leakage(
        source="split", dataset="", name="", seed=held.seed, split_by=held.split_by,
        train=len(train), held_out=len(kept),
    )  # fmt: skip


def _from_other(source: Source, keys: Sequence[int], other: Source) -> Leakage:
    other_keys = _keys(other)
    search = _Search(range(len(other_keys)), set(other_keys) - {_NO_PROMPT})
    for row, each in enumerate(other.prompts()):
        if each is not None:
            search.add_held_out(row, each)
    search.index()
    for row, each in enumerate(source.prompts(search.wanted(keys, ()))):
        if each is not None:
            search.look(row, keys[row], each)
    return search.leakage(source="dataset", dataset="", name="", train=source.rows, held_out=other.rows)


def _apart(keys: Sequence[int]) -> list[int]:
    """Rows without a prompt are equal to none: each a key of its own."""
    return [key if key != _NO_PROMPT else -1 - row for row, key in enumerate(keys)]


class _Search:
    """Held-out rows, and the first training row that each is equal or near to."""

    def __init__(self, held_out: Sequence[int], keys: set[int]) -> None:
        self._keys = keys
        self._rows_of_key: dict[int, list[int]] = {}
        self._sequences: dict[int, set[int]] = {}
        self._room = MOST_SEQUENCES
        self._stride = 1
        self._count = len(held_out)
        self._number = 0
        self._near: NearIndex | None = None
        self._equal: dict[int, tuple[int, str]] = {}
        """Key → the first training row and its text."""
        self._found: dict[int, tuple[float, int, str]] = {}
        """Held-out row → similarity, the nearest training row, its text."""
        self._texts: dict[int, str] = {}

    def add_held_out(self, row: int, prompt: tuple[str, str]) -> None:
        key = prompt_key(prompt[0]) or 1
        rows = self._rows_of_key.setdefault(key, [])
        rows.append(row)
        self._number += 1
        if len(rows) > 1 or (self._number - 1) % self._stride:
            return
        found = sequences(prompt[0])
        if len(found) > self._room:  # every second one so far goes, and from now on
            self._stride *= 2
            gone = list(self._sequences)[1::2]
            self._room += sum(len(self._sequences.pop(each)) for each in gone)
            for each in gone:
                self._texts.pop(each, None)
        if len(found) <= self._room:
            self._room -= len(found)
            self._sequences[row] = found
            self._texts[row] = prompt[1]

    def index(self) -> None:
        self._near = NearIndex(self._sequences)

    def wanted(self, keys: Sequence[int], chosen: Container[int]) -> Callable[[int], bool]:
        """Which rows to `look` at: all that train; without anything to be near to, those whose prompt is held out."""
        if self._near:
            return lambda row: row not in chosen
        return lambda row: keys[row] in self._keys and row not in chosen

    def look(self, row: int, key: int, prompt: tuple[str, str]) -> None:
        """Whether a training row's prompt is equal or near to a held-out one."""
        if key in self._keys:
            self._equal.setdefault(key, (row, prompt[1]))
            return
        if not self._near:
            return
        for held_out, similarity in self._near.near(sequences(prompt[0])):
            if similarity > self._found.get(held_out, (0.0,))[0]:
                self._found[held_out] = (similarity, row, prompt[1])

    def leakage(self, **fields: Any) -> Leakage:
        equal = {
            held_out: (1.0, *self._equal[key])
            for key in self._equal
            for held_out in self._rows_of_key.get(key, ())
        }
        near = {row: found for row, found in self._found.items() if row not in equal}
        return Leakage(
            equal=len(equal),
            near=len(near),
            near_compared=len(self._near or ()),
            examples=[
                Leak(
                    kind=kind,
                    similarity=round(similarity, 3),
                    held_out_row=held_out,
                    train_row=row,
                    held_out_text=self._texts.get(held_out, text),
                    train_text=text,
                )
                for kind, leaks in (("equal", equal), ("near", near))
                for held_out, (similarity, row, text) in list(leaks.items())[: EXAMPLES // 2]
            ],
            **fields,
        )
