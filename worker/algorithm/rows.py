"""What slots 1 to 3 may read about the completions of one step, and the registry lookup they share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from torch import Tensor

Slot = Mapping[str, Any]
"""A slot as the specification has it: `type` names the function, the rest are its keyword arguments."""

State = dict[str, Any]
"""What a slot remembers between steps (JSON values); travels in the resume state."""

F = TypeVar("F", bound=Callable[..., Any])

UNIFORM_STD = 1e-6
"""A group whose rewards spread less than this has no signal: its advantages are exactly 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """N scored completions; rows of a group share a number in `group`. Nothing here carries gradient."""

    group: Tensor
    """(N,) int64: which prompt."""
    values: Tensor
    """(N, K) float64, one column per reward; NaN where a reward does not apply."""
    weights: Tensor
    """(K,) float64."""
    scorable: Tensor
    """(N,) bool; False where a reward failed, so that the row is outside its group's statistics and the loss."""
    mask: Tensor
    """(N, T) bool: tokens written by the policy, the end token included."""
    truncated: Tensor
    """(N,) bool: ended by the token limit."""
    old_logprobs: Tensor | None = None
    """(N, T) float32 under the policy that sampled, where a slot asked for them."""
    entropies: Tensor | None = None
    """(N, T) float32, nats, full vocabulary, under the policy that sampled; where a slot asked for them."""

    @property
    def lengths(self) -> Tensor:
        """(N,) int64: tokens written by the policy."""
        return self.mask.sum(1)


def lookup(registry: Mapping[str, F], slot: Slot, what: str) -> tuple[F, dict[str, Any]]:
    """The function that fills a slot, and its keyword arguments. Raises KeyError naming the known types."""
    kind = slot["type"]
    if kind not in registry:
        raise KeyError(f"unknown {what} {kind!r}; known: {', '.join(sorted(registry))}")
    return registry[kind], {key: value for key, value in slot.items() if key != "type"}
