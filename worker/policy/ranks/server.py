"""A rank other than 0: computes its shares until rank 0 closes the group."""

import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import torch

from worker.machine.portable_error import portable
from worker.policy.critic import LoraCritic
from worker.policy.lora import LoraPolicy
from worker.policy.ranks.calls import (
    AddGradient,
    Model,
    PutWeights,
    RankReply,
    ReduceGradient,
    ScoreRows,
)
from worker.policy.ranks.group import RankGroup
from worker.policy.ranks.work import WorkMeter, token_count


def end_at_once() -> NoReturn:
    """End this process without cleaning up, which could wait for the other ranks, as they wait for this one."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)


class RankServer:
    """On a sharded base an error ends the process, because the other ranks are in the middle of a pass."""

    def __init__(self, group: RankGroup, policy: LoraPolicy, critic: LoraCritic | None = None) -> None:
        self._group = group
        self._policy, self._critic = policy, critic
        self._meter = WorkMeter()
        self._notes: list[str] = []
        for model in (policy, critic):
            if model is not None:
                model.passes.on_change = lambda message, facts: self._notes.append(message)

    def run(self) -> None:
        while (call := self._group.next_message()) is not None:
            match call:
                case PutWeights(model=model):
                    self._put_weights(call, self._model(model))
                case ReduceGradient(model=model):
                    trained = self._model(model).trained
                    self._group.reduce(trained.flat_gradients())
                    trained.optimizer.zero_grad(set_to_none=True)
                case _:
                    self._group.reply(self._reply(call))
        self._group.close()

    def _model(self, model: Model) -> LoraPolicy | LoraCritic:
        if model == "policy":
            return self._policy
        assert self._critic is not None
        return self._critic

    def _put_weights(self, call: PutWeights, model: LoraPolicy | LoraCritic) -> None:
        weights = torch.empty_like(model.trained.flat_weights())
        self._group.broadcast(weights)
        model.trained.put_flat(weights)
        model.passes.start_with(call.facts)
        if call.reference is not None and isinstance(model, LoraPolicy):
            model.load_reference(call.reference)

    def _reply(self, call: Any) -> RankReply:
        notes, self._notes = self._notes, []
        try:
            with self._meter.measured(token_count(call)):
                value = self._compute(call)
        except Exception as error:  # noqa: BLE001 - raised again by rank 0
            sent = portable(error, f"rank {self._group.rank}")
            if self._policy.passes.collective:
                self._group.refuse(sent)
                end_at_once()
            return RankReply(error=sent, work=self._meter.work, notes=notes)
        return RankReply(value, work=self._meter.work, notes=notes + self._notes)

    def _compute(self, call: Any) -> Any:
        match call:
            case ScoreRows(kind="values", sequences=sequences):
                assert self._critic is not None
                return self._critic.values(sequences)
            case ScoreRows(kind=kind, sequences=sequences):
                scores: dict[str, Callable[..., Any]] = {
                    "policy": self._policy.log_probs,
                    "reference": self._policy.reference_log_probs,
                    "base": self._policy.base_log_probs,
                }
                return scores[kind](sequences)
            case AddGradient(batch=batch, loss=loss):
                model: Any = self._model(call.model)
                # Left by a call after which another rank failed.
                model.trained.optimizer.zero_grad(set_to_none=True)
                return model.forward_backward(batch, loss)
        raise TypeError(f"unknown call: {call!r}")
