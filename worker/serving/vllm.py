"""Serving engine on a vLLM server: one base model, several adapters."""

import asyncio
import shutil
import threading
from collections import OrderedDict
from collections.abc import Collection, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from reinforge.errors import JobFailure, Unavailable
from worker.engine_host.client.servers import remote_server, shared_server
from worker.engine_host.protocol import HostFacts
from worker.machine import settings
from worker.machine.gpus import gpu_present
from worker.machine.vllm_checks import check_gpu_build
from worker.machine.vllm_python import VARIABLE, vllm_missing, vllm_python
from worker.rollout.vllm.api import Api, ServerLost, ServerRefused
from worker.rollout.vllm.options import BASE, MAX_LORA_RANKS, Options
from worker.rollout.vllm.server import Progress, SamplerServer, VllmServer
from worker.serving.engine import RequestRun, Say
from worker.serving.held import ADAPTERS
from worker.serving.vllm_model import ServedModel, adapter_rank, load
from worker.serving.vllm_run import VllmRun
from worker.serving_client.protocol import ServingRequest

TOGETHER = 4
RANK = 16
LEAST_CONTEXT = 1024
"""Shortest rows for which a shared server is used; shorter models need less."""

T = TypeVar("T")


class VllmServing:
    def __init__(self, *, adapters: int = ADAPTERS, threads: int = 1, log: Path | None = None) -> None:
        self._most, self._threads, self._log = adapters, threads, log
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="vllm", daemon=True).start()
        self._news = threading.Event()
        self._held: _Held | None = None
        self._running: list[VllmRun] = []

    def fits(self, request: ServingRequest) -> bool:
        held = self._held
        if held is None or held.key != _key(request) or held.lost or _rank(request) > held.rank:
            return False
        # vLLM on the CPU applies some adapter to rows without one that share a batch with others.
        mixed = any((run.request.adapter is None) != (request.adapter is None) for run in self._running)
        return held.model.device != "cpu" or not mixed

    def start(self, request: ServingRequest, in_use: Collection[str | None], say: Say) -> RequestRun:
        held = self._held
        if held is None or held.key != _key(request) or held.lost or _rank(request) > held.rank:
            self.close()
            held = self._open(request, say)
        try:
            name = self._adapter(held, request, in_use, say)
        except ServerLost as error:
            raise self._lost(held, str(error)) from error
        run = VllmRun(
            request,
            held.model,
            held.api,
            name,
            loop=self._loop,
            news=self._news,
            quiet_seconds=held.server.quiet_seconds,
            lost=lambda why: self._lost(held, why),
            closed=lambda run: self._running.remove(run) if run in self._running else None,
        )
        self._running.append(run)
        return run

    def relieve(self) -> None:
        """Free nothing: the server manages its memory."""

    def close(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            held.model.text.close()
            self._wait(held.server.close())

    def _open(self, request: ServingRequest, say: Say) -> "_Held":
        if not settings.sampler_urls():
            _check_vllm()
        rank, together = max(RANK, _rank(request)), min(TOGETHER, self._most)
        model = load(Path(request.folder), rank=rank, together=together)
        options = model.options(rank=rank, adapters=self._most, together=together, threads=self._threads)
        say(f"Starting vLLM with {request.model}")
        server = self._server(
            options, model, lambda stage: say(f"Starting vLLM with {request.model}: {stage.text}")
        )
        try:
            api = self._wait(server.ready())
        except JobFailure as error:
            model.text.close()
            self._wait(server.close())
            end = getattr(error, "traceback", "").splitlines()[-3:]
            raise JobFailure(
                f"{error.message} Its log ends: {' / '.join(end)}"[:1000],
                code="model_load_failed",
                hint=error.hint,
            ) from error
        facts = getattr(server, "facts", None)
        if isinstance(facts, HostFacts):
            model, rank = replace(model, context=min(model.context, facts.max_model_len)), facts.max_rank
        self._held = _Held(_key(request), model, server, api, rank)
        return self._held

    def _server(self, options: Options, model: ServedModel, progress: Progress) -> SamplerServer:
        least = min(model.context, LEAST_CONTEXT)
        if (remote := remote_server(options, longest=least, progress=progress)) is not None:
            return remote

        def own() -> SamplerServer:
            return VllmServer(_check_vllm(), options, self._log, progress=progress)

        if settings.vllm_shared():
            return shared_server(options, own, context=model.context, longest=least, progress=progress)
        return own()

    def _adapter(
        self, held: "_Held", request: ServingRequest, in_use: Collection[str | None], say: Say
    ) -> str:
        if request.adapter is None:
            return BASE
        assert request.adapter_folder is not None
        if request.adapter not in held.adapters:
            say("Loading the adapter")
            # A private copy: vLLM may read it again after the request's folder is gone.
            folder = held.server.adapters / request.adapter
            shutil.copytree(request.adapter_folder, folder, dirs_exist_ok=True)
            try:
                self._wait(held.api.load(request.adapter, folder))
            except ServerRefused as error:
                shutil.rmtree(folder, ignore_errors=True)
                raise JobFailure(
                    f"vLLM does not take the adapter: {error}",
                    code="invalid_adapter",
                    hint="docs/engines.md says what vLLM can serve.",
                ) from error
        held.adapters[request.adapter] = None
        held.adapters.move_to_end(request.adapter)
        for old in [other for other in held.adapters if other != request.adapter and other not in in_use]:
            if len(held.adapters) <= self._most:
                break
            self._wait(held.api.unload(old))
            shutil.rmtree(held.server.adapters / old, ignore_errors=True)
            del held.adapters[old]
        return request.adapter

    def _lost(self, held: "_Held", why: str) -> Unavailable:
        held.lost = True
        return Unavailable(
            f"vLLM has failed: {why}",
            code="serving_lost",
            hint="Try again: the next request restarts it. If that fails, the worker's log says why.",
        )

    def _wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()


class _Held:
    def __init__(
        self, key: tuple[str, str | None], model: ServedModel, server: SamplerServer, api: Api, rank: int
    ) -> None:
        self.key, self.model, self.server, self.api = key, model, server, api
        self.rank = next(allowed for allowed in MAX_LORA_RANKS if rank <= allowed)
        self.adapters: OrderedDict[str, None] = OrderedDict()
        self.lost = False


def _check_vllm() -> Path:
    python = vllm_python()
    if python is None:
        raise JobFailure(
            f"This worker is set to serve with vLLM, which is not installed: {vllm_missing()}.",
            code="engine_missing",
            hint=f"Run `make vllm` there or set {VARIABLE}; or set REINFORGE_SERVING_ENGINE=auto.",
        )
    if gpu_present():
        check_gpu_build()
    return python


def _key(request: ServingRequest) -> tuple[str, str | None]:
    return request.folder, request.model_sha256


def _rank(request: ServingRequest) -> int:
    return 0 if request.adapter_folder is None else adapter_rank(Path(request.adapter_folder))
