"""`Policy` of this process: a LoRA adapter with its optimizer."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

import torch
from peft import PeftModel, get_peft_model_state_dict
from safetensors.torch import save
from torch import Tensor

from worker.policy.base import (
    Batch,
    ForwardBackward,
    LossFunction,
    LossValue,
    PolicyState,
    Sequences,
    SumCount,
    TokenScores,
    empty_scores,
)
from worker.policy.forward.activations import GradientPasses
from worker.policy.forward.micro_batches import MicroBatch, micro_batches
from worker.policy.forward.scoring import Layouts, idle_pass, layouts_of, score
from worker.policy.forward.threads import MicroBatchThreads
from worker.policy.merged_weights import computing
from worker.policy.nf4 import parameter_bytes
from worker.policy.parameters import TrainedParameters, on_cpu
from worker.policy.sharded import own_part

Activate = Callable[[str | None], AbstractContextManager[None]]


class LoraPolicy:
    """LoRA adapter. split: the output layer if logits are exactly `split(decoder(ids))`; it then runs only
    on scored tokens.
    """

    def __init__(
        self,
        name: str,
        peft: PeftModel,
        *,
        activate: Activate,
        split: Callable[[Tensor], Tensor] | None,
        passes: GradientPasses,
        threads: MicroBatchThreads | None = None,
    ) -> None:
        self.name = name
        self.passes = passes
        # Without a head of its own the whole model runs, in ways of which not all may be side by side.
        self._threads = threads if threads is not None and split is not None else MicroBatchThreads()
        self._peft = peft
        self._model = peft.get_base_model()
        self._activate = activate
        self._split = split
        choice = Layouts() if split is None else layouts_of(self._model)
        self.layouts = choice.available
        self.layout = choice.usual
        self.trained = TrainedParameters(adapter_parameters(peft, name))
        self._parameters = self.trained.parameters
        self._optimizer = self.trained.optimizer
        self._reference: dict[str, Tensor] = {}

    @property
    def base_model(self) -> torch.nn.Module:
        model: torch.nn.Module = self._model
        return model

    @property
    def held_bytes(self) -> int:
        reference = sum(tensor.nbytes for tensor in self._reference.values())
        return held_base_bytes(self._model) + self.trained.bytes + reference

    def log_probs(self, sequences: Sequences) -> TokenScores:
        with self._computing():
            return self._score_all(sequences, range(len(sequences)))

    def reference_log_probs(self, sequences: Sequences) -> Tensor:
        with self._as_reference():
            return self._score_all(sequences, range(len(sequences))).logprobs

    def base_log_probs(self, sequences: Sequences) -> Tensor:
        with self._activate(None):
            return self._score_all(sequences, range(len(sequences))).logprobs

    def refresh_reference(self, mixup: float) -> None:
        """Mix the matrices A and B separately: exact at `mixup` 1 or if the old reference is the base model
        (B = 0), otherwise close while the two adapters are similar.
        """
        now = {key: parameter.detach().clone() for key, parameter in self._parameters.items()}
        if not self._reference:
            mixed = {key: tensor * (mixup if "lora_B" in key else 1.0) for key, tensor in now.items()}
        else:
            mixed = {key: torch.lerp(self._reference[key], tensor, mixup) for key, tensor in now.items()}
        self._reference = mixed

    @contextmanager
    def _as_reference(self) -> Iterator[None]:
        if not self._reference:
            with self._activate(None):
                yield
            return
        original = {key: parameter.data for key, parameter in self._parameters.items()}
        try:
            for key, parameter in self._parameters.items():
                parameter.data = self._reference[key]
            with self._computing():
                yield
        finally:
            for key, parameter in self._parameters.items():
                parameter.data = original[key]

    def forward_backward(self, batch: Batch, loss: LossFunction) -> ForwardBackward:
        return self.passes.retry(lambda: self._forward_backward(batch, loss), self._forget)

    def _forward_backward(self, batch: Batch, loss: LossFunction) -> ForwardBackward:
        scores = empty_scores(len(batch.sequences), batch.sequences.longest)
        metrics: dict[str, SumCount] = {}
        gradients: dict[str, float] = {}
        scored = torch.ones_like(batch.needs_gradient) if batch.skipped is None else ~batch.skipped
        with self._computing():
            for needs_gradient in (True, False):
                selected = (batch.needs_gradient == needs_gradient) & scored
                chosen = selected.nonzero()[:, 0].tolist()
                if needs_gradient:
                    self.passes.prepare(batch.sequences, chosen, lambda row: self._try_row(batch, row, loss))
                run = partial(self._run, batch, loss, scores, needs_gradient)
                with self.passes.running():
                    for value, part_gradients in self._threads.map(run, self._plan(batch.sequences, chosen)):
                        self.trained.add(part_gradients)
                        self.passes.heartbeat()
                        for key, (total, count) in value.metrics.items():
                            old_total, old_count = metrics.get(key, (0.0, 0.0))
                            metrics[key] = (old_total + total, old_count + count)
                        for key, gradient in value.gradients.items():
                            gradients[key] = gradients.get(key, 0.0) + gradient / batch.denominator
        return ForwardBackward(metrics, scores, gradients)

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
        weights, moments = self.trained.weights(), self.trained.moments()
        return PolicyState(weights, moments, self.passes.learned, self.reference)

    def load_state(self, state: PolicyState) -> None:
        self.trained.load(state.adapter, state.optimizer)
        self.passes.start_with(state.facts)
        self.load_reference(state.reference)

    @property
    def reference(self) -> dict[str, Tensor]:
        return on_cpu(self._reference)

    def load_reference(self, weights: Mapping[str, Tensor]) -> None:
        self._reference = {
            key: tensor.to(self._parameters[key].device).clone() for key, tensor in weights.items()
        }

    def weights(self) -> dict[str, Tensor]:
        return self.trained.weights()

    def load_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Load another copy's weights, without optimizer and reference."""
        self.trained.put(weights)

    def export(self, folder: Path, *, base_model: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        tensors = get_peft_model_state_dict(self._peft, adapter_name=self.name, save_embedding_layers=False)
        plain = on_cpu({key: tensor.contiguous() for key, tensor in sorted(tensors.items())})
        # Written by us: safetensors' own `save_file` leaves files that only their owner can read.
        (folder / "adapter_model.safetensors").write_bytes(save(plain, metadata={"format": "pt"}))
        config = self._peft.peft_config[self.name].to_dict()
        config |= {"base_model_name_or_path": base_model, "inference_mode": True}
        plain_config = {
            key: sorted(value) if isinstance(value, set) else value for key, value in config.items()
        }
        text = json.dumps(plain_config, indent=2, sort_keys=True, default=str)
        (folder / "adapter_config.json").write_text(text + "\n", encoding="utf-8")

    def _computing(self) -> AbstractContextManager[None]:
        return computing(self._activate, self._peft, self.name)

    def _plan(self, sequences: Sequences, rows: Sequence[int]) -> list[MicroBatch]:
        parts = micro_batches(
            sequences, rows, self.passes.tokens, layout=self.layout, threads=self._threads.count
        )
        return self.passes.planned(sequences, parts)

    def _score_all(self, sequences: Sequences, rows: Sequence[int]) -> TokenScores:
        return self.passes.retry(lambda: self._score_once(sequences, rows))

    def _score_once(self, sequences: Sequences, rows: Sequence[int]) -> TokenScores:
        scores = empty_scores(len(sequences), sequences.longest)

        def run(part: MicroBatch) -> TokenScores:
            with torch.no_grad():
                if not part.rows:
                    idle_pass(self._model, self._split)
                    return empty_scores(0, 0)
                return score(self._model, sequences.take(part.rows), self._split, layout=part.layout)

        parts = self._plan(sequences, rows)
        for part, part_scores in zip(parts, self._threads.map(run, parts), strict=True):
            _store(scores, part.rows, part_scores)
            self.passes.heartbeat()
        return scores

    def _run(
        self, batch: Batch, loss: LossFunction, scores: TokenScores, needs_gradient: bool, part: MicroBatch
    ) -> tuple[LossValue, list[Tensor | None]]:
        """Loss and gradients of a micro-batch, in any thread: the parameters' own gradients stay unchanged."""
        if not part.rows:
            self._idle(needs_gradient)
            return LossValue(torch.zeros(()), {}), []
        with torch.set_grad_enabled(needs_gradient):
            value = self._micro_batch(batch, part, loss, scores)
        if not needs_gradient:
            return value, []
        total = value.total / batch.denominator
        return value, list(torch.autograd.grad(total, self.trained.list, allow_unused=True))

    def _idle(self, needs_gradient: bool) -> None:
        with torch.set_grad_enabled(needs_gradient):
            total = idle_pass(self._model, self._split)
        if needs_gradient:
            torch.autograd.grad(total, self.trained.list, allow_unused=True)

    def _try_row(self, batch: Batch, row: int | None, loss: LossFunction) -> None:
        if row is None:
            self._idle(needs_gradient=True)
            return
        batch, row = self.passes.trial(batch, row)
        unread = empty_scores(len(batch.sequences), batch.sequences.longest)
        try:
            alone = MicroBatch([row], "packed" if self.layout == "packed" else "padded")
            value = self._micro_batch(batch, alone, loss, unread)
            torch.autograd.backward(value.total / batch.denominator)
        finally:
            self._forget()

    def _forget(self) -> None:
        self._optimizer.zero_grad(set_to_none=True)

    def _micro_batch(
        self, batch: Batch, part: MicroBatch, loss: LossFunction, scores: TokenScores
    ) -> LossValue:
        part_scores = score(
            self._model,
            batch.sequences.take(part.rows),
            self._split,
            layout=part.layout,
            entropy_gradient=batch.entropy_gradient,
            execute_token=batch.execute_token,
        )
        _store(scores, part.rows, part_scores)
        return loss(part_scores, tensors_of(batch, part.rows, self._model.device))


def base_bytes(model: torch.nn.Module) -> int:
    """Bytes of the whole base model, on one rank or divided among several."""
    return sum(parameter_bytes(p) for key, p in model.named_parameters() if "lora_" not in key)


def held_base_bytes(model: torch.nn.Module) -> int:
    """Bytes of the base model that this rank holds."""
    return sum(parameter_bytes(own_part(p)) for key, p in model.named_parameters() if "lora_" not in key)


def adapter_parameters(peft: PeftModel, name: str) -> dict[str, torch.nn.Parameter]:
    return {
        key: parameter for key, parameter in peft.named_parameters() if f".{name}." in key and "lora_" in key
    }


def tensors_of(batch: Batch, rows: list[int], device: torch.device) -> dict[str, Tensor]:
    longest = batch.sequences.take(rows).longest
    cut = {key: t[rows] if t.dim() == 1 else t[rows, :longest] for key, t in batch.tensors.items()}
    return {key: tensor.to(device) for key, tensor in cut.items()}


def _store(into: TokenScores, rows: Sequence[int], part_scores: TokenScores) -> None:
    if not rows:
        return
    width = part_scores.logprobs.shape[1]
    # From a GPU in one transfer: each waits for the pass.
    both = torch.stack([part_scores.logprobs.detach(), part_scores.entropies.detach()]).to(into.logprobs)
    into.logprobs[rows, :width], into.entropies[rows, :width] = both
