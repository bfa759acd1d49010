"""Policy and critic whose rows are computed by several ranks. The other ranks get rank 0's weights before
each share, so that ranks cannot drift apart.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor

from reinforge.errors import JobFailure
from worker.machine.memory import OUT_OF_MEMORY
from worker.policy.base import (
    Batch,
    ForwardBackward,
    LossFunction,
    PolicyState,
    Sequences,
    SumCount,
    TokenScores,
    ValueFunction,
)
from worker.policy.critic import LoraCritic
from worker.policy.lora import LoraPolicy
from worker.policy.ranks.calls import (
    AddGradient,
    Model,
    PutWeights,
    RankReply,
    RankWork,
    ReduceGradient,
    ScoreRows,
)
from worker.policy.ranks.group import RankGroup
from worker.policy.ranks.shares import batch_costs, part_of, row_shares
from worker.policy.ranks.work import WorkMeter, token_count

Value = TypeVar("Value")


class Ranks:
    """The ranks of a job, for rank 0."""

    def __init__(self, group: RankGroup, note: Callable[[str], None] = lambda message: None) -> None:
        self.group = group
        self.note = note
        self._meter = WorkMeter()
        self._others = [RankWork() for _ in range(group.size - 1)]

    @property
    def size(self) -> int:
        return self.group.size

    @property
    def work(self) -> list[RankWork]:
        return [self._meter.work, *self._others]

    def run(self, calls: Sequence[Any], own: Callable[[], Value], *, collective: bool = False) -> list[Value]:
        """Send each other rank its message and run `own` on rank 0; returns the values of all ranks. calls:
        messages by rank. collective: the ranks run each pass together. Raises the first error of any rank.
        """
        self.group.scatter(calls)
        if collective:
            return self._run_together(calls, own)
        try:
            with self._meter.measured(token_count(calls[0])):
                value = own()
        except Exception:
            self.group.replies()
            raise
        return [value, *self._values()]

    def _run_together(self, calls: Sequence[Any], own: Callable[[], Value]) -> list[Value]:
        # After an error the others wait for the next pass, and end with this process.
        with self.group.collective(), self._meter.measured(token_count(calls[0])):
            value = own()
        return [value, *self._values()]

    def _values(self) -> list[Any]:
        replies: list[RankReply] = self.group.replies()
        for rank, reply in enumerate(replies, 1):
            self._others[rank - 1] = reply.work
            for message in reply.notes:
                self.note(f"Rank {rank}: {message}")
        for reply in replies:
            if reply.error is not None:
                raise reply.error
        return [reply.value for reply in replies]

    def send_all(self, call: Any) -> None:
        self.group.scatter([call] * self.size)


class _Ranked:
    def __init__(self, model: Model, own: LoraPolicy | LoraCritic, ranks: Ranks) -> None:
        self._model, self._trained = model, own.trained
        self._passes, self._layout = own.passes, own.layout
        self._ranks = ranks
        self._weights_sent = self._reference_sent = False

    def _changed(self, *, reference: bool = False) -> None:
        self._weights_sent = False
        self._reference_sent = self._reference_sent and not reference

    def _send_weights(self, reference: Callable[[], dict[str, Tensor]]) -> None:
        if self._weights_sent and self._reference_sent:
            return
        changed = None if self._reference_sent else reference()
        self._ranks.send_all(PutWeights(self._model, changed, self._passes.learned))
        self._ranks.group.broadcast(self._trained.flat_weights())
        self._weights_sent = self._reference_sent = True

    def _run(self, calls: Sequence[Any], own: Callable[[], Value]) -> list[Value]:
        sizes = self._passes.facts
        try:
            return self._ranks.run(calls, own, collective=self._passes.collective)
        except JobFailure as error:
            if self._passes.collective and error.code == OUT_OF_MEMORY and sizes == self._passes.facts:
                # Of another rank: the resume state is to have smaller sizes.
                self._passes.too_large_together()
            raise

    def _score(
        self, kind: Any, sequences: Sequences, own: Callable[[Sequences], Value]
    ) -> tuple[list[list[int]], list[Value]]:
        shares = row_shares(sequences, self._ranks.size, layout=self._layout)
        calls = [ScoreRows(kind, sequences.take(rows)) for rows in shares]
        return shares, self._run(calls, lambda: own(calls[0].sequences))

    def _add_gradient(
        self, batch: Batch, loss: LossFunction | ValueFunction, own: Callable[[Batch], Value]
    ) -> tuple[list[list[int]], list[Value]]:
        shares = row_shares(batch.sequences, self._ranks.size, layout=self._layout, costs=batch_costs(batch))
        calls = [AddGradient(self._model, part_of(batch, rows), loss) for rows in shares]
        values = self._run(calls, lambda: own(calls[0].batch))
        if bool(batch.needs_gradient.any()):
            self._ranks.send_all(ReduceGradient(self._model))
            gradients = self._trained.flat_gradients()
            self._ranks.group.reduce(gradients)
            self._trained.put_flat_gradients(gradients)
        return shares, values


class RankedPolicy(_Ranked):
    """`Policy` that divides its rows among ranks; `own` is rank 0's."""

    def __init__(self, own: LoraPolicy, ranks: Ranks) -> None:
        super().__init__("policy", own, ranks)
        self.own = own

    @property
    def name(self) -> str:
        return self.own.name

    @property
    def held_bytes(self) -> int:
        return self.own.held_bytes

    def log_probs(self, sequences: Sequences) -> TokenScores:
        self._send_weights(lambda: self.own.reference)
        shares, parts = self._score("policy", sequences, self.own.log_probs)
        return _joined_scores(sequences, shares, parts)

    def reference_log_probs(self, sequences: Sequences) -> Tensor:
        self._send_weights(lambda: self.own.reference)
        shares, parts = self._score("reference", sequences, self.own.reference_log_probs)
        return _joined(sequences, shares, parts)

    def base_log_probs(self, sequences: Sequences) -> Tensor:
        self._send_weights(lambda: self.own.reference)
        shares, parts = self._score("base", sequences, self.own.base_log_probs)
        return _joined(sequences, shares, parts)

    def refresh_reference(self, mixup: float) -> None:
        self.own.refresh_reference(mixup)
        self._changed(reference=True)

    def forward_backward(self, batch: Batch, loss: LossFunction) -> ForwardBackward:
        self._send_weights(lambda: self.own.reference)
        shares, parts = self._add_gradient(batch, loss, lambda part: self.own.forward_backward(part, loss))
        gradients: dict[str, float] = {}
        for part in parts:
            for key, gradient in part.gradients.items():
                gradients[key] = gradients.get(key, 0.0) + gradient
        scores = _joined_scores(batch.sequences, shares, [part.scores for part in parts])
        return ForwardBackward(_added([part.metrics for part in parts]), scores, gradients)

    def optimizer_step(
        self,
        *,
        learning_rate: float,
        betas: tuple[float, float],
        eps: float,
        weight_decay: float,
        clip_norm: float,
    ) -> float:
        self._changed()
        return self.own.optimizer_step(
            learning_rate=learning_rate, betas=betas, eps=eps, weight_decay=weight_decay, clip_norm=clip_norm
        )

    def state(self) -> PolicyState:
        return self.own.state()

    def load_state(self, state: PolicyState) -> None:
        self._changed(reference=True)
        self.own.load_state(state)

    def export(self, folder: Path, *, base_model: str) -> None:
        self.own.export(folder, base_model=base_model)


class RankedCritic(_Ranked):
    def __init__(self, own: LoraCritic, ranks: Ranks) -> None:
        super().__init__("critic", own, ranks)
        self.own = own

    @property
    def held_bytes(self) -> int:
        return self.own.held_bytes

    def values(self, sequences: Sequences) -> Tensor:
        self._send_weights(dict)
        shares, parts = self._score("values", sequences, self.own.values)
        return _joined(sequences, shares, parts)

    def forward_backward(self, batch: Batch, loss: ValueFunction) -> dict[str, SumCount]:
        self._send_weights(dict)
        _, parts = self._add_gradient(batch, loss, lambda part: self.own.forward_backward(part, loss))
        return _added(parts)

    def optimizer_step(
        self,
        *,
        learning_rate: float,
        betas: tuple[float, float],
        eps: float,
        weight_decay: float,
        clip_norm: float,
    ) -> float:
        self._changed()
        return self.own.optimizer_step(
            learning_rate=learning_rate, betas=betas, eps=eps, weight_decay=weight_decay, clip_norm=clip_norm
        )

    def state(self) -> PolicyState:
        return self.own.state()

    def load_state(self, state: PolicyState) -> None:
        self._changed()
        self.own.load_state(state)


def _joined(sequences: Sequences, shares: list[list[int]], parts: list[Tensor]) -> Tensor:
    whole = torch.zeros(len(sequences), sequences.longest)
    for rows, part in zip(shares, parts, strict=True):
        whole[rows, : part.shape[1]] = part
    return whole


def _joined_scores(sequences: Sequences, shares: list[list[int]], parts: list[TokenScores]) -> TokenScores:
    logprobs = _joined(sequences, shares, [part.logprobs for part in parts])
    return TokenScores(logprobs, _joined(sequences, shares, [part.entropies for part in parts]))


def _added(parts: Sequence[dict[str, SumCount]]) -> dict[str, SumCount]:
    metrics: dict[str, SumCount] = {}
    for part in parts:
        for key, (total, count) in part.items():
            before = metrics.get(key, (0.0, 0.0))
            metrics[key] = (before[0] + total, before[1] + count)
    return metrics
