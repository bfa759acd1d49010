"""Critic on a LoRA adapter: the base model with its own adapter and a head of one number per token."""

from collections.abc import Iterator, Sequence
from functools import partial

import torch
from peft import PeftModel
from torch import Tensor

from worker.policy.base import Batch, LossValue, PolicyState, Sequences, SumCount, ValueFunction
from worker.policy.forward.activations import GradientPasses
from worker.policy.forward.micro_batches import MicroBatch, micro_batches
from worker.policy.forward.scoring import idle_pass, layouts_of, predict_values
from worker.policy.lora import Activate, adapter_parameters, tensors_of
from worker.policy.merged_weights import computing
from worker.policy.parameters import TrainedParameters


class LoraCritic:
    def __init__(
        self, name: str, peft: PeftModel, *, activate: Activate, passes: GradientPasses, base_bytes: int = 0
    ) -> None:
        self.name = name
        self._model = peft.get_base_model()
        self._computing = partial(computing, activate, peft, name)
        self.passes = passes
        self.layout = layouts_of(self._model).usual
        width = self._model.config.get_text_config().hidden_size
        self._head = torch.nn.Linear(width, 1, device=self._model.device, dtype=torch.float32)
        torch.nn.init.zeros_(self._head.weight)
        torch.nn.init.zeros_(self._head.bias)
        head = {f"value_head.{key}": parameter for key, parameter in self._head.named_parameters()}
        self.trained = TrainedParameters(adapter_parameters(peft, name) | head)
        self._base_bytes = base_bytes

    @property
    def held_bytes(self) -> int:
        return self._base_bytes + self.trained.bytes

    def values(self, sequences: Sequences) -> Tensor:
        return self.passes.retry(lambda: self._values(sequences))

    def _values(self, sequences: Sequences) -> Tensor:
        all_values = torch.zeros(len(sequences), sequences.longest)
        with self._computing(), torch.no_grad():
            for part in self._plan(sequences, range(len(sequences))):
                if not part.rows:
                    idle_pass(self._model, self._head)
                    continue
                values = self._foresee(sequences, part)
                all_values[part.rows, : values.shape[1]] = values.cpu()
        return all_values

    def forward_backward(self, batch: Batch, loss: ValueFunction) -> dict[str, SumCount]:
        return self.passes.retry(lambda: self._forward_backward(batch, loss), self._forget)

    def _forward_backward(self, batch: Batch, loss: ValueFunction) -> dict[str, SumCount]:
        metrics: dict[str, SumCount] = {}
        chosen = batch.needs_gradient.nonzero()[:, 0].tolist()
        with self._computing():
            self.passes.prepare(batch.sequences, chosen, lambda row: self._try_row(batch, row, loss))
            for part in self._plan(batch.sequences, chosen):
                with self.passes.running():
                    if not part.rows:
                        self._idle()
                        continue
                    value = self._backward(batch, part, loss)
                for key, (total, count) in value.metrics.items():
                    before = metrics.get(key, (0.0, 0.0))
                    metrics[key] = (before[0] + total, before[1] + count)
        return metrics

    def optimizer_step(
        self,
        *,
        learning_rate: float,
        betas: tuple[float, float],
        eps: float,
        weight_decay: float,
        clip_norm: float,
    ) -> float:
        return self.trained.step(
            learning_rate=learning_rate, betas=betas, eps=eps, weight_decay=weight_decay, clip_norm=clip_norm
        )

    def state(self) -> PolicyState:
        return PolicyState(self.trained.weights(), self.trained.moments(), self.passes.learned)

    def load_state(self, state: PolicyState) -> None:
        self.trained.load(state.adapter, state.optimizer)
        self.passes.start_with(state.facts)

    def _backward(self, batch: Batch, part: MicroBatch, loss: ValueFunction) -> LossValue:
        values = self._foresee(batch.sequences, part)
        value = loss(values, tensors_of(batch, part.rows, values.device))
        torch.autograd.backward(value.total / batch.denominator)
        return value

    def _idle(self) -> None:
        torch.autograd.grad(idle_pass(self._model, self._head), self.trained.list, allow_unused=True)

    def _try_row(self, batch: Batch, row: int | None, loss: ValueFunction) -> None:
        if row is None:
            self._idle()
            return
        batch, row = self.passes.trial(batch, row)
        try:
            self._backward(batch, self._alone(row), loss)
        finally:
            self._forget()

    def _forget(self) -> None:
        self.trained.optimizer.zero_grad(set_to_none=True)

    def _alone(self, row: int) -> MicroBatch:
        return MicroBatch([row], "packed" if self.layout == "packed" else "padded")

    def _foresee(self, sequences: Sequences, part: MicroBatch) -> Tensor:
        return predict_values(self._model, sequences.take(part.rows), self._head, layout=part.layout)

    def _plan(self, sequences: Sequences, rows: Sequence[int]) -> Iterator[MicroBatch]:
        parts = micro_batches(sequences, rows, self.passes.tokens, layout=self.layout)
        for part in self.passes.planned(sequences, parts):
            yield part
            self.passes.heartbeat()
