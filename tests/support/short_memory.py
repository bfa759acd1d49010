"""A model whose forward or backward pass raises out-of-memory errors on a test's schedule."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from transformers import PreTrainedModel

MESSAGE = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.6 GiB"


@dataclass(frozen=True, slots=True)
class Pass:
    number: int
    """Number of the next pass, from 0."""
    tokens: int
    gradient: bool


@contextmanager
def short_of_memory(
    model: PreTrainedModel, fails: Callable[[Pass], bool], *, backward: bool = False
) -> Iterator[list[Pass]]:
    """Inside the context passes of the decoder that `fails` chooses run out of memory, `backward`: only in their
    backward pass. Yields all passes, in order."""
    passes: list[Pass] = []

    def look(module: torch.nn.Module, inputs: Any, named: dict[str, Any], output: Any) -> None:
        here = Pass(len(passes), named["input_ids"].numel(), torch.is_grad_enabled())
        passes.append(here)
        if not fails(here):
            return
        if not backward:
            raise torch.OutOfMemoryError(MESSAGE)
        if here.gradient:
            output.last_hidden_state.register_hook(_raise)

    handle = model.get_decoder().register_forward_hook(look, with_kwargs=True)
    try:
        yield passes
    finally:
        handle.remove()


def _raise(gradient: torch.Tensor) -> None:
    raise torch.OutOfMemoryError(MESSAGE)
