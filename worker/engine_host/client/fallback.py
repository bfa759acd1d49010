"""A server on this machine's engine host, or one of its client's own where that host is too small for it."""

from collections.abc import Callable

from reinforge.errors import JobFailure
from worker.engine_host.client.hosted_server import HostedServer
from worker.engine_host.client.local import HostTooSmall
from worker.engine_host.protocol import HostFacts
from worker.rollout.vllm.api import Api
from worker.rollout.vllm.server import Notify, SamplerServer


class SharedServer:
    def __init__(
        self, hosted: HostedServer, own: Callable[[], SamplerServer], *, notify: Notify = lambda _: None
    ) -> None:
        self._hosted, self._make_own, self._notify = hosted, own, notify
        self._server: SamplerServer = hosted
        self.adapters, self.quiet_seconds = hosted.adapters, hosted.quiet_seconds
        self.stopped: Callable[[], bool] = lambda: False
        hosted.stopped = self._stops

    @property
    def facts(self) -> HostFacts | None:
        """The host's facts; None on a server of its own."""
        return self._hosted.facts if self._server is self._hosted else None

    async def ready(self) -> Api:
        try:
            return await self._server.ready()
        except HostTooSmall as error:
            self._notify(f"{error.message} This client gets a vLLM of its own.")
            self._server = self._make_own()
            self._server.stopped, self.quiet_seconds = self._stops, self._server.quiet_seconds
            return await self._server.ready()

    async def awake(self) -> Api:
        await self.ready()
        return await self._server.awake()

    async def rest(self) -> None:
        await self._server.rest()

    async def restart(self, why: str) -> Api:
        return await self._server.restart(why)

    def refusal(self, what: str, why: str) -> JobFailure:
        return self._server.refusal(what, why)

    async def close(self) -> None:
        if self._server is not self._hosted:
            await self._server.close()
        await self._hosted.close()

    def _stops(self) -> bool:
        return self.stopped()
