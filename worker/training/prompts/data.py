"""Prompts of a job: rows rendered by the model's chat template, split, and chosen by seed and step."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from reinforge.dataset import (
    NO_PLACE_FOR_TOOLS,
    DatasetError,
    PromptRow,
    iter_prompts,
    normalised,
    prompt_key,
    row_hash,
    split,
    split_together,
)
from reinforge.errors import JobFailure
from reinforge.spec import DataSpec
from worker.environment.base import Prompt
from worker.models.rendering import Rendered, Renderer
from worker.rollout.noise import Stream, permutation
from worker.training.prompts import frontier
from worker.training.reporting.slices import Slices

_CHECKED_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class JobPrompts:
    train: Sequence[PromptRow]
    held_out: Sequence[PromptRow]
    renderer: Renderer
    seed: int
    sampling: Literal["shuffle", "in_order", "frontier"]
    max_tokens: int
    notes: list[str] = field(default_factory=list)

    def for_step(self, step: int, count: int, rates: frontier.Rates | None = None) -> list[Prompt]:
        """`count` prompts of a 1-based step; rates: pass rates by row index for `frontier`."""
        if self.sampling == "frontier":
            indices = [row.index for row in self.train]
            places = frontier.draw(self.seed, step, indices, rates or {}, count)
            return self._prompts([self.train[place] for place in places])
        rows = len(self.train)
        first = (step - 1) * count
        orders: dict[int, Sequence[int]] = {}
        picked = []
        for position in range(first, first + count):
            epoch, place = divmod(position, rows)
            if epoch not in orders:
                orders[epoch] = (
                    permutation(self.seed, Stream.SHUFFLE, epoch, rows)
                    if self.sampling == "shuffle"
                    else range(rows)
                )
            picked.append(self.train[orders[epoch][place]])
        return self._prompts(picked)

    def further(self, step: int, count: int, dealt: Collection[int]) -> list[Prompt]:
        order = permutation(self.seed, Stream.REFILL, step, len(self.train))
        others = (self.train[place] for place in order if self.train[place].index not in dealt)
        return self._prompts(list(islice(others, count)))

    def for_evaluation(self, count: int) -> list[Prompt]:
        rows = len(self.held_out)
        if rows <= count:
            return self._prompts(self.held_out)
        return self._prompts([self.held_out[place * rows // count] for place in range(count)])

    def _prompts(self, rows: Sequence[PromptRow]) -> list[Prompt]:
        rendered = self.renderer.render([(row.messages, row.tools) for row in rows], self.max_tokens)
        return [self._prompt(row, rendered_row) for row, rendered_row in zip(rows, rendered, strict=True)]

    def _prompt(self, row: PromptRow, rendered: Rendered) -> Prompt:
        if rendered.refusal is not None:
            raise JobFailure(
                f"Row {row.index + 1} cannot be a prompt: {rendered.refusal}",
                code="data_error",
                hint="Change the row's messages, or use a model whose chat template accepts them.",
            )
        if rendered.tokens > self.max_tokens:
            raise _too_long(row.index, rendered.tokens, self.max_tokens)
        hashed = {"messages": row.messages, "tools": row.tools} if row.tools else row.messages
        text, ids = rendered.text, rendered.token_ids
        return Prompt(row.index, row.item, row.messages, text, ids, row_hash(hashed), row.tools)

    @property
    def different(self) -> int:
        """Number of different prompts among the training rows."""
        return len({prompt_key(normalised(row.messages)) for row in self.train})

    @property
    def leaked_rows(self) -> int:
        """Number of held-out rows whose prompt is trained on as well."""
        trained = {prompt_key(normalised(row.messages)) for row in self.train} if self.held_out else set()
        return sum(prompt_key(normalised(row.messages)) in trained for row in self.held_out)

    def slices(self, column: str | None) -> Slices:
        return Slices.of(column, [row.item for row in (*self.train, *self.held_out)])

    def check(self) -> int:
        """Render every row; returns the tokens of the longest prompt. Raises JobFailure `data_error`."""
        rows, longest = [*self.train, *self.held_out], 0
        for start in range(0, len(rows), _CHECKED_AT_ONCE):
            made = self._prompts(rows[start : start + _CHECKED_AT_ONCE])
            longest = max(longest, *(len(prompt.token_ids) for prompt in made))
        return longest


def load_prompts(
    data: DataSpec,
    dataset: Path,
    held_out: Path | None,
    *,
    renderer: Renderer,
    seed: int,
    max_tokens: int,
    numbers: Sequence[str] = (),
    held_out_numbers: Sequence[str] = (),
    tools: list[dict[str, Any]] | None = None,
) -> JobPrompts:
    """Read and split the rows. `numbers`: numeric columns of CSV. tools: the environment's, set on all rows.
    Raises JobFailure `data_error`.
    """
    try:
        rows = list(_rows(dataset, data, numbers))
        if held_out is not None:
            train, held_rows = rows, list(_rows(held_out, data, held_out_numbers))
        else:
            train_indices, held_indices = _split(rows, data, seed)
            train, held_rows = [rows[i] for i in train_indices], [rows[i] for i in held_indices]
    except DatasetError as error:
        raise JobFailure(str(error), code="data_error", hint=error.hint) from error
    if not train:
        raise JobFailure(
            "The dataset has no rows.", code="data_error", hint="Upload one with at least one row."
        )
    if tools is not None:
        train, held_rows = _with_tools(train, tools), _with_tools(held_rows, tools)
    notes = [f"{len(train)} rows to train on, {len(held_rows)} held out"]
    if not held_rows:
        notes.append("No rows are held out, so there is no held-out evaluation.")
    if not renderer.takes_tools and any(row.tools for row in (*train, *held_rows)):
        notes.append(NO_PLACE_FOR_TOOLS)
    return JobPrompts(train, held_rows, renderer, seed, data.sampling, max_tokens, notes)


def _with_tools(rows: Sequence[PromptRow], tools: list[dict[str, Any]]) -> list[PromptRow]:
    for row in rows:
        if row.tools:
            raise JobFailure(
                f"Row {row.index + 1} has tools of its own, but in this environment all rows have the job's.",
                code="data_error",
                hint="Rename the column `tools`, or use environment `single_turn`.",
            )
    return [replace(row, tools=tools or None) for row in rows]


def _split(rows: Sequence[PromptRow], data: DataSpec, seed: int) -> tuple[list[int], list[int]]:
    if data.split_by == "row":
        return split(len(rows), data.held_out_rows, seed)
    keys = [prompt_key(normalised(row.messages)) for row in rows]
    return split_together(keys, data.held_out_rows, seed)


def _rows(path: Path, data: DataSpec, numbers: Sequence[str]) -> Iterator[PromptRow]:
    return iter_prompts(
        path,
        roles=data.columns,
        template=data.prompt_template,
        system_prompt=data.system_prompt,
        numbers=numbers,
    )


def _too_long(index: int, tokens: int, limit: int) -> JobFailure:
    return JobFailure(
        f"The prompt of row {index + 1} has {tokens} tokens; the limit is {limit}.",
        code="data_error",
        hint="Shorten or drop the row, raise rollout.max_prompt_tokens, or lower rollout.max_completion_tokens.",
    )
