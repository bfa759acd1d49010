"""Token sequences of a step's rollouts, as the policy reads them.

A rollout has several conversations, each with a prompt of its own, if its program rewrote its history, forked
or ran sub-agents. Shaping, selection, advantages and the constants of the loss treat it as one row: the
tokens of its conversations one after the other. The policy reads S conversations of N rollouts, and its loss
runs over conversations.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

import torch
from torch import Tensor

from worker.algorithm.loss.optimizer_batch import SUMMED_OVER_ROWS
from worker.policy.base import Batch, Sequences, TokenScores
from worker.rollout.collect import Rollout


@dataclass(frozen=True)
class RolloutSequences:
    sequences: Sequences
    """S conversations, rollout after rollout."""
    counts: Sequence[int]
    """Number of conversations of each rollout."""
    shares: Sequence[float]
    """Share of each conversation in the tokens that its rollout trains; a rollout's shares add up to 1."""

    @staticmethod
    def of(rollouts: Sequence[Rollout], temperature: float) -> "RolloutSequences":
        conversations = [part for rollout in rollouts for part in rollout.conversations]
        return RolloutSequences(
            Sequences(
                [part.prompt.token_ids for part in conversations],
                [part.token_ids for part in conversations],
                temperature,
            ),
            [len(rollout.conversations) for rollout in rollouts],
            [part.share for part in conversations],
        )

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def longest(self) -> int:
        return int((self._starts + self._lengths).max()) if self._forked else self.sequences.longest

    def take(self, rows: Sequence[int]) -> "RolloutSequences":
        parts = [
            part for row in rows for part in range(self._first[row], self._first[row] + self.counts[row])
        ]
        return RolloutSequences(
            self.sequences.take(parts),
            [self.counts[row] for row in rows],
            [self.shares[part] for part in parts],
        )

    def joined(self, values: Tensor) -> Tensor:
        """Arrange values of tokens by rollout: (S, longest conversation) → (N, longest rollout)."""
        if not self._forked:
            return values
        part, column, row, place = self._places
        empty = values.new_zeros((len(self), self.longest))
        return empty.index_put((row, place), values[part, column])

    def joined_scores(self, scores: TokenScores) -> TokenScores:
        if not self._forked:
            return scores
        return TokenScores(self.joined(scores.logprobs), self.joined(scores.entropies))

    def split(self, batch: Batch) -> Batch:
        """The same batch by conversation: N rollouts → S conversations."""
        if not self._forked:
            return batch
        return replace(
            batch,
            tensors={name: self._split(name, tensor) for name, tensor in batch.tensors.items()},
            needs_gradient=batch.needs_gradient[self._row],
            skipped=None if batch.skipped is None else batch.skipped[self._row],
        )

    def _split(self, name: str, tensor: Tensor) -> Tensor:
        if tensor.dim() == 1:
            values = tensor[self._row]
            return values * torch.tensor(self.shares).to(values) if name in SUMMED_OVER_ROWS else values
        part, column, row, place = self._places
        empty = tensor.new_zeros((len(self.sequences), self.sequences.longest))
        return empty.index_put((part, column), tensor[row, place])

    @property
    def _forked(self) -> bool:
        return len(self.sequences) > len(self.counts)

    @cached_property
    def _first(self) -> list[int]:
        return list(accumulate(self.counts, initial=0))

    @cached_property
    def _row(self) -> Tensor:
        """(S,) int64: each conversation's rollout."""
        return torch.repeat_interleave(torch.tensor(self.counts))

    @cached_property
    def _lengths(self) -> Tensor:
        return torch.tensor([len(ids) for ids in self.sequences.completions])

    @cached_property
    def _starts(self) -> Tensor:
        """(S,) int64: each conversation's first column in its rollout's row."""
        before = self._lengths.cumsum(0) - self._lengths
        return before - before[torch.tensor(self._first[:-1])][self._row]

    @cached_property
    def _places(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Position of every token: (conversation, column in it, rollout, column in the rollout's row)."""
        present = torch.arange(self.sequences.longest) < self._lengths[:, None]
        part, column = present.nonzero(as_tuple=True)
        return part, column, self._row[part], self._starts[part] + column
