"""Prompts of a job: rows rendered by the model's chat template, split, and dealt out by step.

Which prompts a step gets is a function of the seed and the step alone, so there is no position to save; with frontier
sampling, of the rows' pass rates as well.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal, Protocol

from jinja2 import TemplateError

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
from reinforge.grading import tool_calls
from reinforge.spec import DataSpec
from worker.environment.base import Prompt
from worker.models.chat import has_place_for_tools
from worker.rollout.noise import Stream, permutation
from worker.training import frontier
from worker.training.slices import Slices


class Renderer(Protocol):
    takes_tools: bool
    """Whether the prompt has a place for tools; where it has none they are left out."""

    def text(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None = None) -> str:
        """The prompt as the model reads it, up to where its own message begins. Raises ValueError."""

    def token_ids(self, text: str) -> tuple[int, ...]: ...

    def plain_ids(self, text: str) -> tuple[int, ...]:
        """Of text inside a completion: no special tokens."""


class ChatRenderer:
    """Renders with a tokenizer's chat template; plain text, joined by blank lines, when it has none."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self.has_template = bool(tokenizer.chat_template)
        self.takes_tools = _takes_tools(tokenizer.chat_template)

    def text(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None = None) -> str:
        if not self.has_template:
            return "\n\n".join(message["content"] for message in messages)
        given: dict[str, Any] = {"tokenize": False, "add_generation_prompt": True}
        if tools and self.takes_tools:
            messages, given["tools"] = tool_calls.prepared(messages), tools
        try:
            text: str = self._tokenizer.apply_chat_template(messages, **given)
        except Exception as error:  # a template is a program of the model's author
            raise ValueError(f"the chat template refuses it: {error}") from error
        return text

    def token_ids(self, text: str) -> tuple[int, ...]:
        # A template writes its own special tokens; adding others would double the first.
        return tuple(self._tokenizer(text, add_special_tokens=not self.has_template)["input_ids"])

    def plain_ids(self, text: str) -> tuple[int, ...]:
        return tuple(self._tokenizer(text, add_special_tokens=False)["input_ids"])


@dataclass(frozen=True, slots=True)
class Prompts:
    """The rows of a job; rendering happens when a row's turn comes."""

    train: Sequence[PromptRow]
    held_out: Sequence[PromptRow]
    renderer: Renderer
    seed: int
    sampling: Literal["shuffle", "in_order", "frontier"]
    max_tokens: int
    notes: list[str] = field(default_factory=list)
    """What a person should know about the split."""

    def for_step(self, step: int, count: int, rates: frontier.Rates | None = None) -> list[Prompt]:
        """The `count` prompts of a 1-based step: a new order every epoch for `shuffle`, drawn by `rates` (pass rates
        by row index) for `frontier`."""
        if self.sampling == "frontier":
            indices = [row.index for row in self.train]
            places = frontier.draw(self.seed, step, indices, rates or {}, count)
            return [self.prompt(self.train[place]) for place in places]
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
            picked.append(self.prompt(self.train[orders[epoch][place]]))
        return picked

    def further(self, step: int, count: int, dealt: Collection[int]) -> list[Prompt]:
        """Up to `count` prompts of rows that a step has not had (`dealt`: their indices); fewer where none are left.

        Which ones is a function of the seed, the step and `dealt`.
        """
        order = permutation(self.seed, Stream.REFILL, step, len(self.train))
        others = (self.train[place] for place in order if self.train[place].index not in dealt)
        return [self.prompt(row) for row in islice(others, count)]

    def for_evaluation(self, count: int) -> list[Prompt]:
        """`count` held-out prompts, evenly spread over the rows; all where there are fewer."""
        rows = len(self.held_out)
        if rows <= count:
            return [self.prompt(row) for row in self.held_out]
        return [self.prompt(self.held_out[place * rows // count]) for place in range(count)]

    def prompt(self, row: PromptRow) -> Prompt:
        """Raises JobFailure `data_error` for a row that cannot be rendered or is too long."""
        try:
            text = self.renderer.text(row.messages, row.tools)
        except ValueError as error:
            raise JobFailure(
                f"Row {row.index + 1} cannot be a prompt: {error}",
                code="data_error",
                hint="Change the row's messages, or use a model whose chat template accepts them.",
            ) from error
        token_ids = self.renderer.token_ids(text)
        if len(token_ids) > self.max_tokens:
            raise _too_long(row.index, len(token_ids), self.max_tokens)
        asked = {"messages": row.messages, "tools": row.tools} if row.tools else row.messages
        return Prompt(row.index, row.item, row.messages, text, token_ids, row_hash(asked), row.tools)

    def slices(self, column: str | None) -> Slices:
        """The values of a column, over all rows, that metrics tell apart."""
        return Slices.of(column, [row.item for row in (*self.train, *self.held_out)])

    def check(self) -> None:
        """Render every row once, so that a bad one ends the job before it trains. Raises JobFailure `data_error`."""
        for row in (*self.train, *self.held_out):
            self.prompt(row)


def load_prompts(
    data: DataSpec, dataset: Path, held_out: Path | None, *, renderer: Renderer, seed: int, max_tokens: int
) -> Prompts:
    """Read and split the rows. Raises JobFailure `data_error`."""
    try:
        rows = list(_rows(dataset, data))
        if held_out is not None:
            train, kept = rows, list(_rows(held_out, data))
        else:
            train_indices, held_indices = _split(rows, data, seed)
            train, kept = [rows[i] for i in train_indices], [rows[i] for i in held_indices]
    except DatasetError as error:
        raise JobFailure(str(error), code="data_error", hint=error.hint) from error
    if not train:
        raise JobFailure(
            "The dataset has no rows.", code="data_error", hint="Upload one with at least one row."
        )
    notes = [f"{len(train)} rows to train on, {len(kept)} held out"]
    if not kept:
        notes.append("No rows are held out, so there is no held-out evaluation.")
    if not renderer.takes_tools and any(row.tools for row in (*train, *kept)):
        notes.append(NO_PLACE_FOR_TOOLS)
    return Prompts(train, kept, renderer, seed, data.sampling, max_tokens, notes)


def _takes_tools(template: str | dict[str, str] | None) -> bool:
    if isinstance(template, dict):  # several, by name
        template = template.get("tool_use") or template.get("default")
    try:
        return template is not None and has_place_for_tools(template)
    except TemplateError:  # rendering says what is wrong with it
        return False


def _split(rows: Sequence[PromptRow], data: DataSpec, seed: int) -> tuple[list[int], list[int]]:
    if data.split_by == "row":
        return split(len(rows), data.held_out_rows, seed)
    keys = [prompt_key(normalised(row.messages)) for row in rows]
    return split_together(keys, data.held_out_rows, seed)


def _rows(path: Path, data: DataSpec) -> Iterator[PromptRow]:
    return iter_prompts(
        path, roles=data.columns, template=data.prompt_template, system_prompt=data.system_prompt
    )


def _too_long(index: int, tokens: int, limit: int) -> JobFailure:
    return JobFailure(
        f"The prompt of row {index + 1} has {tokens} tokens; the limit is {limit}.",
        code="data_error",
        hint="Shorten or drop the row, raise rollout.max_prompt_tokens, or lower rollout.max_completion_tokens.",
    )
