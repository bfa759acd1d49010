"""The vLLM server of an engine host: started on demand, restarted after a failure with all adapters."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterator

from reinforge.errors import JobFailure, Unavailable
from worker.engine_host.leases import HeldAdapter
from worker.engine_host.protocol import HostState
from worker.rollout.vllm.api import Api, ServerRefused
from worker.rollout.vllm.process import Stage
from worker.rollout.vllm.server import QUIET_SECONDS, SamplerServer

log = logging.getLogger(__name__)

MakeServer = Callable[[Callable[[Stage], None]], SamplerServer]


class SharedSampler:
    """For one event loop."""

    def __init__(self, make_server: MakeServer, held: Callable[[], list[HeldAdapter]]) -> None:
        """held: returns the adapters that a new server gets."""
        self._make_server, self._held = make_server, held
        self._server: SamplerServer | None = None
        self._api: Api | None = None
        self._starting: asyncio.Task[None] | None = None
        self._running, self._output_at = 0, 0.0
        self.quiet_seconds = QUIET_SECONDS
        self.state: HostState = "stopped"
        self.stage = Stage(0, 1, "")
        self.failure: JobFailure | None = None
        self.starts = 0

    @property
    def server_pid(self) -> int | None:
        return getattr(self._server, "pid", None)

    def start(self) -> None:
        """Start the server in the background, unless it runs or starts."""
        if self._starting is None and self.state != "ready":
            self.state, self.failure = "starting", None
            self._starting = asyncio.create_task(self._start())

    def api(self) -> Api:
        """Raises Unavailable while the server is not ready."""
        if self._api is None:
            raise Unavailable("vLLM is not ready.", code="sampler_starting")
        return self._api

    @contextlib.contextmanager
    def watched(self) -> Iterator[Callable[[], None]]:
        """Counts a request as running; the function that it yields reports output of the server."""
        if not self._running:
            self._output()
        self._running += 1
        try:
            yield self._output
        finally:
            self._running -= 1

    def _output(self) -> None:
        self._output_at = time.monotonic()

    async def look(self) -> None:
        """Restart a server that has ended, or was silent for too long while requests ran."""
        if getattr(self._server, "ended", False):
            await self.lost(self._api, "it has ended")
        if self._running and time.monotonic() - self._output_at > self.quiet_seconds:
            await self.lost(self._api, f"not a word for {self.quiet_seconds:g} s")

    async def lost(self, api: Api | None, why: str) -> None:
        """Replace the server, unless another request has reported its failure already."""
        if api is None or api is not self._api:
            return
        log.warning("vLLM failed (%s); it is restarted", why)
        self._api, self.state = None, "stopped"
        # In its own task, which also ends the old server: the one that reports a failure is cancelled when its
        # client gives up.
        self.start()

    async def close(self) -> None:
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        self._api, self.state = None, "stopped"
        await self._end()

    async def _end(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            await server.close()

    async def _start(self) -> None:
        self.starts += 1
        try:
            await self._end()
            self._server = self._make_server(self._progress)
            api = await self._server.ready()
            await self._load_held(api)
            self._api, self.state = api, "ready"
        except JobFailure as error:
            await self._failed(error)
        except Exception as error:
            log.exception("vLLM could not be started")
            why = f"vLLM could not be started: {error or type(error).__name__}"
            await self._failed(JobFailure(why, code="vllm_start_failed", retryable=True))
        finally:
            self._starting = None

    async def _load_held(self, api: Api) -> None:
        for adapter in self._held():
            try:
                await api.load(adapter.name, adapter.folder)
            except ServerRefused as error:
                log.warning("vLLM does not take %s again: %s", adapter.name, error)

    async def _failed(self, error: JobFailure) -> None:
        log.error("%s", error.message)
        self.failure, self.state = error, "failed"
        await self._end()

    def _progress(self, stage: Stage) -> None:
        self.stage = stage
