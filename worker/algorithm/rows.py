"""Scored completions of a step as input of shaping, selection and advantage; lookup of these functions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

from worker.algorithm.plugin_functions import own_function

PartSettings = Mapping[str, Any]
"""Settings of a part: `type` names the function, the rest are its arguments."""

State = dict[str, Any]
"""State of a part between steps (JSON values)."""

F = TypeVar("F", bound=Callable[..., Any])

UNIFORM_STD = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """S scored steps inside completions, in any order."""

    row: Tensor
    end: Tensor
    """(S,) int64: number of the completion's tokens up to the step's end, 1 to T."""
    values: Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """S agent turns, each an action in a state, ordered by row and time."""

    row: Tensor
    start: Tensor
    """(S,) int64: column of the action's first token."""
    end: Tensor
    """(S,) int64: column after the action's last token."""
    rewards: Tensor
    states: Tensor
    """(S,) int64: number of the state before the action, equal for equal states."""

    def actions(self, mask: Tensor) -> Tensor:
        """(N, T) int64: number of each token's turn in its row, from 0; -1 for none."""
        numbers = torch.full(mask.shape, -1, dtype=torch.int64)
        number, before = 0, None
        for row, start, end in zip(self.row.tolist(), self.start.tolist(), self.end.tolist(), strict=True):
            number = number + 1 if row == before else 0
            numbers[row, start:end], before = number, row
        return torch.where(mask, numbers, -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """N scored completions, without gradient. A rollout of several conversations is one completion with the
    tokens of all.
    """

    group: Tensor
    """(N,) int64: equal for completions of one prompt."""
    values: Tensor
    """(N, K) float64, one column per reward; NaN where a reward does not apply."""
    weights: Tensor
    scorable: Tensor
    """(N,) bool; False where a reward failed."""
    mask: Tensor
    """(N, T) bool: tokens that the policy sampled, including the end token."""
    truncated: Tensor
    """(N,) bool: ended by the token limit."""
    old_logprobs: Tensor | None = None
    """Log-probabilities under the sampling policy, (N, T) float32."""
    entropies: Tensor | None = None
    """Entropies over the full vocabulary under the sampling policy, (N, T) float32 nats."""
    state_values: Tensor | None = None
    """(N, T) float32: a critic's value before each token."""
    token_rewards: Tensor | None = None
    """(N, T) float64 from shaping: the reward on the last token, minus the KL penalty on each token."""
    steps: Steps | None = None
    turns: Turns | None = None
    reference_logprobs: Tensor | None = None
    token_ids: Tensor | None = None
    """(N, T) int64, undefined outside the mask."""
    names: tuple[str, ...] = ()
    prompts: tuple[str, ...] | None = None
    """Key of each row's prompt, stable over steps."""
    prompt_lengths: Tensor | None = None
    criteria: tuple[tuple[Mapping[str, float], ...], ...] | None = None
    """Score by rubric criterion, per row and reward; may be empty."""
    candidates: tuple[tuple[Sequence[Sequence[float]], ...], ...] | None = None
    """Score vectors of candidate answers, per row and reward; may be empty."""
    tool_spans: Tensor | None = None
    """(N, 2) int64: start and stop column of the first tool call, without its opening marker; -1 if none."""
    source: Tensor | None = None
    """(N,) int64: the row that this one continues; -1 for rows sampled from the prompt."""
    injected: Tensor | None = None
    """(N, T) bool: tokens inserted by the algorithm, outside the mask."""
    seed: int = 0
    group_count: int | None = None
    """Number of groups to train on in a step; None for all."""
    rounds: int = 1

    @property
    def independent(self) -> Tensor:
        """(N,) bool: False for rows that continue another row; statistics leave these out."""
        return torch.ones_like(self.scorable) if self.source is None else self.source < 0

    @property
    def lengths(self) -> Tensor:
        return self.mask.sum(1)

    def row_mean(self, values: Tensor) -> Tensor:
        """(N,) float64: mean of (N, T) over each row's tokens; 0 without tokens."""
        valid = torch.where(self.mask, values.to(torch.float64), 0.0)
        return valid.sum(1) / self.lengths.clamp(min=1)

    def needed(self, name: str) -> Any:
        value = getattr(self, name)
        if value is None:
            raise ValueError(f"the algorithm needs `rows.{name}`, which is missing")
        return value


def lookup(registry: Mapping[str, F], settings: PartSettings, what: str) -> tuple[F, dict[str, Any]]:
    kind = settings["type"]
    function: Callable[..., Any] | None = registry.get(kind) or own_function(what, kind)
    if function is None:
        raise KeyError(f"unknown {what} {kind!r}; known: {', '.join(sorted(registry))}")
    return cast(F, function), {key: value for key, value in settings.items() if key != "type"}
