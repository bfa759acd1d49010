"""Serving engine in this process: a transformers model with PEFT adapters."""

from collections.abc import Collection

import torch

from worker.policy.host import LocalHost
from worker.rollout.transformers_engine import cache_bytes_per_token
from worker.serving.engine import Event, RequestRun, Say
from worker.serving.generation import Generation
from worker.serving.held import ADAPTERS, HeldModel
from worker.serving_client.protocol import ServingRequest

CPU_CACHE_BYTES = 512 * 1024**2
GPU_CACHE_SHARE = 0.1
"""Share of free GPU memory for one request's KV cache: training may use the same device."""


class TransformersServing:
    def __init__(self, *, adapters: int = ADAPTERS) -> None:
        self._held = HeldModel(adapters=adapters)

    def fits(self, request: ServingRequest) -> bool:
        return self._held.fits(request)

    def start(self, request: ServingRequest, in_use: Collection[str | None], say: Say) -> RequestRun:
        host = self._held.host(request, in_use, say)
        return _Run(Generation(request, host.base, self._held.text, tokens_in_cache(host)), host)

    def relieve(self) -> None:
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


class _Run:
    def __init__(self, generation: Generation, host: LocalHost) -> None:
        self._generation, self._host = generation, host

    @property
    def request(self) -> ServingRequest:
        return self._generation.request

    @property
    def finished(self) -> bool:
        return self._generation.finished

    def step(self) -> None:
        with torch.inference_mode(), self._host.activate(self.request.adapter):
            self._generation.step()

    def take_events(self) -> list[Event]:
        return self._generation.take_events()

    def close(self) -> None:
        """Release nothing."""


def tokens_in_cache(host: LocalHost) -> int:
    model = host.base.model
    room = CPU_CACHE_BYTES
    if model.device.type == "cuda":
        room = int(torch.cuda.mem_get_info(model.device)[0] * GPU_CACHE_SHARE)
    return max(1, room // cache_bytes_per_token(model))
