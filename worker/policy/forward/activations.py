"""Chooses micro-batch size and gradient checkpointing by the memory that activations need."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

from reinforge.errors import JobFailure
from worker.machine.memory import (
    is_out_of_memory,
    memory_at_hand,
    out_of_memory,
    release,
    requested_amount,
    with_amount,
)
from worker.policy.base import Batch, Sequences
from worker.policy.forward.gradient_checkpointing import can_checkpoint, checkpointed
from worker.policy.forward.micro_batches import MicroBatch
from worker.policy.forward.out_of_memory import (
    Planned,
    change_message,
    halved,
    memory_facts,
    read_facts,
    too_large_together,
    too_long,
)
from worker.policy.sharded import own_part

Result = TypeVar("Result")
SHARE = {"cpu": 0.5, "cuda": 0.75}
"""Usable share of free memory. On the CPU, where only saved tensors are counted, the process grew by 1.8
times their size.
"""
TRIAL_TOKENS = 1024
"""Most tokens of a measured row on a sharded base, where running out of memory would end the attempt."""
_GIB = 2**30


@dataclass(frozen=True, slots=True)
class Fit:
    tokens: int
    """Most tokens of a micro-batch; a longer row has a micro-batch of its own."""
    checkpointing: bool


def fit(per_token: float, room: float, *, budget: int, longest: int) -> Fit:
    """Sizes that fit into `room` bytes if each token saves `per_token` bytes."""
    most = room / per_token if per_token > 0 else math.inf
    if most < longest:
        return Fit(min(budget, longest), checkpointing=True)
    return Fit(int(min(budget, most)), checkpointing=False)


class GradientPasses:
    """Runs the micro-batches of one adapter; measures the longest row of the first batch with gradient to
    choose their size.

    On a sharded base every pass is collective: all ranks measure together, and run equally many passes.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        device: torch.device,
        budget: int,
        *,
        parallel: int = 1,
        largest_of_ranks: Callable[[float], float] | None = None,
    ) -> None:
        """largest_of_ranks: of a sharded base, the largest of all ranks' values."""
        self.tokens = budget
        self.checkpointing = False
        self.on_change: Callable[[str, dict[str, Any]], None] = lambda message, facts: None
        self.heartbeat: Callable[[], None] = lambda: None
        self._model, self._device = model, device
        self._parallel = parallel
        self.collective = largest_of_ranks is not None
        self._largest: Callable[[float], float] = largest_of_ranks or float
        self._per_token, self._room = 0.0, math.inf
        self._measured = False
        self._first = self.tokens, self.checkpointing
        self._planned = Planned()
        self._short = False

    @property
    def facts(self) -> dict[str, Any]:
        return {"micro_batch_tokens": self.tokens, "gradient_checkpointing": self.checkpointing}

    def running(self) -> AbstractContextManager[None]:
        return checkpointed(self._model) if self.checkpointing else nullcontext()

    @property
    def learned(self) -> dict[str, Any]:
        """Sizes chosen after memory ran out, for `start_with` of the next attempt."""
        if not self._short:
            return {}
        return memory_facts(self._device, self.tokens, checkpointing=self.checkpointing)

    def start_with(self, facts: Mapping[str, Any]) -> None:
        """Start with the micro-batch sizes of an earlier attempt, unless this device has more memory."""
        before = read_facts(self._device, facts)
        if before is not None:
            tokens, checkpointing = before
            self._short, self.tokens = True, min(self.tokens, tokens)
            self.checkpointing |= checkpointing and self._may_checkpoint

    def planned(self, sequences: Sequences, parts: list[MicroBatch]) -> list[MicroBatch]:
        """The parts, and on a sharded base as many empty ones as another rank has more."""
        self._planned = self._planned.also(sequences, parts)
        missing = int(self._largest(len(parts))) - len(parts)
        return [*parts, *(MicroBatch([]) for _ in range(missing))]

    def retry(self, run: Callable[[], Result], forget: Callable[[], None] | None = None) -> Result:
        """The result of `run`, retried when out of memory with half the micro-batch, then with gradient
        checkpointing. Raises JobFailure `out_of_memory` (retryable).

        `run` must have no effect before it returns except gradients, which `forget` drops.
        """
        as_it_is = False
        while True:
            self._planned = Planned()
            try:
                return run()
            except (RuntimeError, MemoryError, OSError) as error:
                if not is_out_of_memory(error):
                    raise
                requested = requested_amount(error)
            # Outside the handler: the error holds the frames and their tensors.
            if forget is not None:
                forget()
            release(self._device)
            if self.collective:
                # The other ranks are in the middle of their passes.
                raise self.too_large_together(requested)
            if not self._shrink(requested, gradient=forget is not None):
                if as_it_is:
                    raise self._out_of_memory_failure(requested, gradient=forget is not None)
                as_it_is = True

    def too_large_together(self, requested: str | None = None) -> JobFailure:
        """The error of passes that cannot be repeated on this rank alone; the next attempt runs smaller ones."""
        self._short = True
        self.tokens = max(1, min(self.tokens, self._planned.largest or self.tokens) // 2)
        self.checkpointing |= self._may_checkpoint
        return too_large_together(self._device, self._planned, self.tokens, requested=requested)

    def _shrink(self, requested: str | None, *, gradient: bool) -> bool:
        planned = self._planned
        tokens = halved(self.tokens, planned)
        twice = tokens is None and gradient and not self.checkpointing and self._may_checkpoint
        if planned.longest == 0 or (tokens is None and not twice):
            return False
        self._short, self.checkpointing = True, self.checkpointing or twice
        self.tokens = tokens or min(self.tokens, planned.longest)
        self.on_change(
            change_message(self._device, planned, self.tokens, requested=requested, checkpointing=twice),
            self.facts,
        )
        return True

    def _out_of_memory_failure(self, requested: str | None, *, gradient: bool) -> JobFailure:
        computed_twice = self.checkpointing if gradient else None
        self.tokens, self.checkpointing = self._first
        self._short = self._measured = False
        if self._planned.longest == 0:
            return out_of_memory(self._device, f"a pass could not even begin{with_amount(requested)}")
        return too_long(self._device, self._planned, requested=requested, computed_twice=computed_twice)

    @property
    def _may_checkpoint(self) -> bool:
        return can_checkpoint(self._model)

    def prepare(
        self, sequences: Sequences, rows: Sequence[int], attempt: Callable[[int | None], None]
    ) -> None:
        """Choose micro-batch size and checkpointing for a batch whose `rows` get a gradient. attempt: gets None
        where only other ranks have rows.
        """
        lengths = {row: len(sequences.prompts[row]) + len(sequences.completions[row]) for row in rows}
        row = max(lengths, key=lambda row: lengths[row], default=None)
        longest = int(self._largest(0 if row is None else lengths[row]))
        if longest == 0:
            return
        if not self._measured:
            self._measured = True
            self._measure(0 if row is None else lengths[row], lambda: attempt(row))
        sizes = fit(self._per_token, self._room, budget=self.tokens, longest=longest)
        checkpoint_layers = sizes.checkpointing and self._may_checkpoint
        before = self.facts
        self.tokens, self.checkpointing = sizes.tokens, self.checkpointing or checkpoint_layers
        if self.facts != before:
            self.on_change(self._reason(longest), self.facts)

    def _measure(self, tokens: int, attempt: Callable[[], None]) -> None:
        at_hand = memory_at_hand(self._device)
        if at_hand is None:
            return
        room = SHARE[self._device.type] * at_hand / self._parallel
        if self.collective:
            needed = needed_bytes(self._model, self._device, attempt) / max(1, min(tokens, TRIAL_TOKENS))
            # A rank without a row of its own measures nothing.
            self._per_token = self._largest(needed if tokens else 0.0)
            self._room = -self._largest(-room)
        else:
            self._room = room
            self._per_token = activation_bytes(self._model, self._device, attempt, room) / tokens

    def trial(self, batch: Batch, row: int) -> tuple[Batch, int]:
        """Batch and row to measure: on a sharded base the row alone, shortened to `TRIAL_TOKENS`."""
        if not self.collective:
            return batch, row
        half = TRIAL_TOKENS // 2
        sequences = batch.sequences.take([row])
        short = replace(
            sequences,
            prompts=[ids[-half:] for ids in sequences.prompts],
            completions=[ids[:half] for ids in sequences.completions],
        )
        return replace(batch, sequences=short, tensors={key: t[[row]] for key, t in batch.tensors.items()}), 0

    def _reason(self, longest: int) -> str:
        needed, room = self._per_token * longest / _GIB, self._room / _GIB
        how = f"about {needed:.2g} GiB" if math.isfinite(needed) else "more than that"
        done = "gradient checkpointing is on, " if self.checkpointing else ""
        per_micro_batch = f" for each of {self._parallel} micro-batches at once" if self._parallel > 1 else ""
        return (
            f"Memory for activations: {room:.2g} GiB are at hand{per_micro_batch}, and the longest row, of "
            f"{longest:,} tokens, keeps {how} without gradient checkpointing. Therefore {done}micro-batches have at "
            f"most {self.tokens:,} tokens"
        )


def activation_bytes(
    model: torch.nn.Module, device: torch.device, attempt: Callable[[], None], room: float
) -> float:
    """Bytes that `attempt` needs; infinite if they exceed the memory, or on the CPU `room`."""
    try:
        return needed_bytes(model, device, attempt, room)
    except ForwardTooLarge:
        return math.inf
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        if device.type == "cuda":
            torch.cuda.empty_cache()
        return math.inf


def needed_bytes(
    model: torch.nn.Module, device: torch.device, attempt: Callable[[], None], room: float = math.inf
) -> float:
    if device.type != "cuda":
        return saved_bytes(model, attempt, room)
    held = torch.cuda.memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    attempt()
    return torch.cuda.max_memory_allocated(device) - held


class ForwardTooLarge(Exception):
    pass


def saved_bytes(model: torch.nn.Module, attempt: Callable[[], None], room: float = math.inf) -> int:
    """Bytes that `attempt` saves for a backward pass, without the model's weights and buffers; raises
    ForwardTooLarge beyond `room`.
    """
    tensors = (own_part(tensor) for tensor in (*model.parameters(), *model.buffers()))
    own = {tensor.untyped_storage().data_ptr() for tensor in tensors}
    sizes: dict[int, int] = {}
    total = 0

    def keep(tensor: Tensor) -> Tensor:
        nonlocal total
        storage = tensor.untyped_storage()
        place, size = storage.data_ptr(), storage.nbytes()
        if place not in own:
            # A storage that was freed leaves its place to others: the largest one counts.
            total += max(0, size - sizes.get(place, 0))
            sizes[place] = max(size, sizes.get(place, 0))
            if total > room:
                raise ForwardTooLarge
        return tensor

    def give(tensor: Tensor) -> Tensor:
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, give):
        attempt()
    return total
