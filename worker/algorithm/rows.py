"""The completions of one step as input of shaping, selection and advantages, and the registry lookup."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

from worker.algorithm.plugin_functions import own_function

PartSettings = Mapping[str, Any]
"""A slot as the specification has it: `type` names the function, the rest are its keyword arguments."""

State = dict[str, Any]
"""What a slot remembers between steps (JSON values); travels in the resume state."""

F = TypeVar("F", bound=Callable[..., Any])

UNIFORM_STD = 1e-6
"""A group whose rewards spread less than this has no signal: its advantages are exactly 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """S scored steps inside completions, in any order (process supervision)."""

    row: Tensor
    """(S,) int64: which completion."""
    end: Tensor
    """(S,) int64: tokens of the completion up to and including the step's last, 1 to T."""
    values: Tensor
    """(S,) float64: the step's reward, weights applied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """S turns of agents, each an action in a state; rows in order, and the turns of a row in the order of time."""

    row: Tensor
    """(S,) int64, rising: which completion."""
    start: Tensor
    """(S,) int64: column of the action's first token."""
    end: Tensor
    """(S,) int64: column behind its last."""
    rewards: Tensor
    """(S,) float64: what the turn earned by itself."""
    states: Tensor
    """(S,) int64: equal numbers for equal states (exact text) before the action."""

    def actions(self, mask: Tensor) -> Tensor:
        """(N, T) int64: which turn of its row a token of `mask` (N, T) belongs to, from 0; -1 for none."""
        numbers = torch.full(mask.shape, -1, dtype=torch.int64)
        number, before = 0, None
        for row, start, end in zip(self.row.tolist(), self.start.tolist(), self.end.tolist(), strict=True):
            number = number + 1 if row == before else 0
            numbers[row, start:end], before = number, row
        return torch.where(mask, numbers, -1)


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
    state_values: Tensor | None = None
    """(N, T) float32: what a critic expected before each token, where there is one."""
    token_rewards: Tensor | None = None
    """(N, T) float64, where slot 1 shaped tokens: the outcome on the last one, less a penalty on each."""
    steps: Steps | None = None
    """Step rewards (process supervision)."""
    turns: Turns | None = None
    """Turns of multi-turn agents."""
    reference_logprobs: Tensor | None = None
    """(N, T) float32 under the reference, where a slot asked for them (KL in the reward)."""
    token_ids: Tensor | None = None
    """(N, T) int64, anything outside the mask."""
    names: tuple[str, ...] = ()
    """Names of the K rewards."""
    prompts: tuple[str, ...] | None = None
    """Per row a key of its prompt that stays the same when the prompt comes again."""
    prompt_lengths: Tensor | None = None
    """(N,) int64: tokens of the prompt."""
    criteria: tuple[tuple[Mapping[str, float], ...], ...] | None = None
    """Per row and reward: criterion of the rubric → score; empty for none."""
    candidates: tuple[tuple[Sequence[Sequence[float]], ...], ...] | None = None
    """Per row and reward: one vector of scores for each candidate answer inside the completion; empty for none."""
    tool_spans: Tensor | None = None
    """(N, 2) int64: columns of the first tool call, from behind its opening marker to behind its last token; (-1, -1)
    for a row without one."""
    source: Tensor | None = None
    """(N,) int64: the row that this one continues from its tool call, -1 for rows sampled from the prompt."""
    injected: Tensor | None = None
    """(N, T) bool: text put in by the algorithm; outside the mask."""
    seed: int = 0
    """The job's seed."""
    wanted: int | None = None
    """Number of groups to train on in this step; None for all."""
    rounds: int = 1
    """How often rows were sampled for this step, this time included."""

    @property
    def lengths(self) -> Tensor:
        """(N,) int64: tokens written by the policy."""
        return self.mask.sum(1)

    def row_mean(self, values: Tensor) -> Tensor:
        """(N,) float64: mean of (N, T) `values` over each row's tokens; 0 for a row without any."""
        valid = torch.where(self.mask, values.to(torch.float64), 0.0)
        return valid.sum(1) / self.lengths.clamp(min=1)

    def needed(self, name: str) -> Any:
        """The optional field `name`. Raises ValueError when it is None."""
        value = getattr(self, name)
        if value is None:
            raise ValueError(f"this slot needs `rows.{name}`, which nothing has filled")
        return value


def lookup(registry: Mapping[str, F], settings: PartSettings, what: str) -> tuple[F, dict[str, Any]]:
    """The function that fills a part, built in or of an installed package, and its keyword arguments.

    Raises KeyError naming the built-in types, OwnFunctionError for a package's function that cannot be loaded.
    """
    kind = settings["type"]
    function: Callable[..., Any] | None = registry.get(kind) or own_function(what, kind)
    if function is None:
        raise KeyError(f"unknown {what} {kind!r}; known: {', '.join(sorted(registry))}")
    return cast(F, function), {key: value for key, value in settings.items() if key != "type"}
