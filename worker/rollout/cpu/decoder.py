"""Decoder with the fast decode step and shared prompts."""

from collections.abc import Callable
from functools import partial

from torch import Tensor
from transformers import PreTrainedModel

from worker.rollout.cpu.decode_step import DecodeStep, fast_step, supports_decode_step
from worker.rollout.cpu.shared_prompts import SharedPrompts
from worker.rollout.decoder import Decoder
from worker.rollout.kv_cache import roomy_cache

SHARED_FROM = 64


def decoder_for(model: PreTrainedModel) -> Callable[[], Decoder]:
    return partial(_decoder if supports_decode_step(model) else Decoder, model)


def _decoder(model: PreTrainedModel) -> Decoder:
    step = fast_step(model)
    return Decoder(model) if step is None else FastDecoder(model, step)


class FastDecoder(Decoder):
    def __init__(self, model: PreTrainedModel, step: DecodeStep) -> None:
        super().__init__(model)
        self._decode_step = step
        self._prompts: SharedPrompts | None = None

    def keep(self, rows: Tensor) -> None:
        super().keep(rows)
        if self._prompts is not None:
            self._prompts.keep(rows)

    def _prompts_to_rows(self, prompt_of: Tensor, prompts: int, longest: int) -> None:
        if longest < SHARED_FROM or len(prompt_of) == prompts:
            super()._prompts_to_rows(prompt_of, prompts, longest)
            return
        self._prompts = SharedPrompts(self._cache, self._mask, prompt_of)
        self._cache, self._mask = roomy_cache(self._model), None

    def _next(self, tokens: Tensor) -> Tensor:
        return self._decode_step(tokens, self._positions, self._mask, self._cache, self._prompts)
