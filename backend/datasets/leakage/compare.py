"""Searches a dataset for repeated prompts and leaked held-out prompts, in a child process."""

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


@dataclass(frozen=True)
class ComparedDataset:
    path: str
    format: Format
    rows: int
    view: str

    def prompts(self, selects: Callable[[int], bool] | None = None) -> Iterator[tuple[str, str] | None]:
        how = PromptView.model_validate_json(self.view)
        template = PromptTemplate.parse(how.prompt_template) if how.prompt_template else None
        for index, row in enumerate(islice(iter_accepted(Path(self.path), self.format), MOST_ROWS)):
            if selects is not None and not selects(index):
                yield None
                continue
            try:
                messages = render_messages(row, how.columns, template)
            except DatasetError:
                yield None
                continue
            yield normalised(messages), str(messages[-1]["content"])[:TEXT]


@dataclass(frozen=True)
class HeldOutRows:
    rows: int | None = None
    seed: int = 0
    split_by: Literal["row", "prompt"] = "row"
    other: ComparedDataset | None = None


def compare(source: ComparedDataset, held_out: HeldOutRows) -> dict[str, Any]:
    began = time.monotonic()
    keys = _keys(source)
    repeated = _repeated(keys)
    overlap: dict[str, Any] = {
        "compared": len(keys),
        "without_prompt": sum(1 for key in keys if key == _NO_PROMPT),
        "duplicates": _duplicates(source, keys, repeated).model_dump(),
        "leakage": None,
    }
    leakage = (
        _from_other(source, keys, held_out.other) if held_out.other else _from_split(source, keys, held_out)
    )
    if leakage is not None:
        overlap["leakage"] = leakage.model_dump()
    return overlap | {"seconds": round(time.monotonic() - began, 1)}


def split_by_prompt(
    path: str, format: Format, view: str, held_out: int | None, seed: int
) -> tuple[list[int], list[int]]:
    return split_together(_apart(_keys(ComparedDataset(path, format, 0, view))), held_out, seed)


def _keys(source: ComparedDataset) -> "array[int]":
    return array(
        "Q", (_NO_PROMPT if prompt is None else prompt_key(prompt[0]) or 1 for prompt in source.prompts())
    )


def _repeated(keys: Sequence[int]) -> Counter[int]:
    earlier_keys: set[int] = set()
    repeated: Counter[int] = Counter()
    for key in keys:
        if key in earlier_keys:
            repeated[key] += 1
        elif key != _NO_PROMPT:
            earlier_keys.add(key)
    return Counter({key: count + 1 for key, count in repeated.items()})


def _duplicates(source: ComparedDataset, keys: Sequence[int], repeated: Counter[int]) -> Duplicates:
    examples = {
        key: RepeatedPrompt(text="", count=count, rows=[]) for key, count in repeated.most_common(EXAMPLES)
    }
    for row, key in enumerate(keys):
        if key in examples and len(examples[key].rows) < 10:
            examples[key].rows.append(row)
    example_by_row = {example.rows[0]: example for example in examples.values()}
    if example_by_row:
        for row, prompt in enumerate(
            islice(source.prompts(example_by_row.__contains__), max(example_by_row) + 1)
        ):
            if prompt is not None:
                example_by_row[row].text = prompt[1]
    return Duplicates(
        prompts=len(repeated),
        rows=repeated.total() - len(repeated),
        examples=list(examples.values()),
    )


def _from_split(source: ComparedDataset, keys: Sequence[int], held_out: HeldOutRows) -> Leakage | None:
    if held_out.split_by == "prompt":
        train, held_out_rows = split_together(_apart(keys), held_out.rows, held_out.seed)
    else:
        train, held_out_rows = split(source.rows, held_out.rows, held_out.seed)
    if not held_out_rows:
        return None
    search = _Search(held_out_rows, {keys[row] for row in held_out_rows if row < len(keys)} - {_NO_PROMPT})
    chosen = set(held_out_rows)
    for row, prompt in enumerate(source.prompts(chosen.__contains__)):
        if prompt is not None:
            search.add_held_out(row, prompt)
    search.index()
    for row, prompt in enumerate(source.prompts(search.selector(keys, chosen))):
        if prompt is not None:
            search.look(row, keys[row], prompt)
    return search.leakage(
        source="split", dataset="", name="", seed=held_out.seed, split_by=held_out.split_by,
        train=len(train), held_out=len(held_out_rows),
    )  # fmt: skip


def _from_other(source: ComparedDataset, keys: Sequence[int], held_out: ComparedDataset) -> Leakage:
    other_keys = _keys(held_out)
    search = _Search(range(len(other_keys)), set(other_keys) - {_NO_PROMPT})
    for row, prompt in enumerate(held_out.prompts()):
        if prompt is not None:
            search.add_held_out(row, prompt)
    search.index()
    for row, prompt in enumerate(source.prompts(search.selector(keys, ()))):
        if prompt is not None:
            search.look(row, keys[row], prompt)
    return search.leakage(source="dataset", dataset="", name="", train=source.rows, held_out=held_out.rows)


def _apart(keys: Sequence[int]) -> list[int]:
    return [key if key != _NO_PROMPT else -1 - row for row, key in enumerate(keys)]


class _Search:
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
        self._best_matches: dict[int, tuple[float, int, str]] = {}
        self._texts: dict[int, str] = {}

    def add_held_out(self, row: int, prompt: tuple[str, str]) -> None:
        key = prompt_key(prompt[0]) or 1
        rows = self._rows_of_key.setdefault(key, [])
        rows.append(row)
        self._number += 1
        if len(rows) > 1 or (self._number - 1) % self._stride:
            return
        prompt_sequences = sequences(prompt[0])
        if len(prompt_sequences) > self._room:  # drop every second one, now and from here on
            self._stride *= 2
            dropped_rows = list(self._sequences)[1::2]
            self._room += sum(len(self._sequences.pop(dropped_row)) for dropped_row in dropped_rows)
            for dropped_row in dropped_rows:
                self._texts.pop(dropped_row, None)
        if len(prompt_sequences) <= self._room:
            self._room -= len(prompt_sequences)
            self._sequences[row] = prompt_sequences
            self._texts[row] = prompt[1]

    def index(self) -> None:
        self._near = NearIndex(self._sequences)

    def selector(self, keys: Sequence[int], chosen: Container[int]) -> Callable[[int], bool]:
        if self._near:
            return lambda row: row not in chosen
        return lambda row: keys[row] in self._keys and row not in chosen

    def look(self, row: int, key: int, prompt: tuple[str, str]) -> None:
        if key in self._keys:
            self._equal.setdefault(key, (row, prompt[1]))
            return
        if not self._near:
            return
        for held_out, similarity in self._near.near(sequences(prompt[0])):
            if similarity > self._best_matches.get(held_out, (0.0,))[0]:
                self._best_matches[held_out] = (similarity, row, prompt[1])

    def leakage(self, **fields: Any) -> Leakage:
        equal = {
            held_out: (1.0, *self._equal[key])
            for key in self._equal
            for held_out in self._rows_of_key.get(key, ())
        }
        near = {row: matches for row, matches in self._best_matches.items() if row not in equal}
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
