"""Client of an engine host: a `SamplerServer` that other engines use too."""

import asyncio
import contextlib
import shutil
import threading
import time
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

import httpx

from reinforge.errors import JobFailure
from worker.engine_host.address import HostAddress
from worker.engine_host.folders import private_folder
from worker.engine_host.protocol import HostFacts, HostLease
from worker.engine_host.uploads import CONFIG, WEIGHTS
from worker.rollout.vllm.api import LOAD_SECONDS, Api, ServerLost, ServerRefused
from worker.rollout.vllm.process import Stage
from worker.rollout.vllm.server import START_SECONDS, EngineFailure, Notify, Progress, Stopped

RESTARTS = 3
"""Failures of vLLM that an attempt survives: another client's request may have caused them."""
TRIES = 12
"""Most failed requests, several of which may be of one failure."""
QUIET_SECONDS = 1800.0
"""The host restarts a hung vLLM long before; rows may wait behind those of other clients."""
_LOOK_SECONDS = 0.2
_PART_BYTES = 2**20


class HostSource(Protocol):
    """Opens leases on an engine host."""

    @property
    def name(self) -> str: ...

    def open(self) -> tuple[HostAddress, HostLease]:
        """Open a lease; blocks. Raises JobFailure."""


class LeaseApi(Api):
    """vLLM's API as one lease has it; adapters are uploaded."""

    def __init__(self, address: HostAddress, lease: str) -> None:
        self._client = address.async_client(f"/v1/leases/{lease}")

    async def load(self, name: str, path: Path) -> None:
        config = await asyncio.to_thread((path / CONFIG).read_bytes)
        length = len(config) + (path / WEIGHTS).stat().st_size
        try:
            answer = await self._client.put(
                f"/adapters/{quote(name, safe='')}",
                params={"config": len(config)},
                content=_parts(config, path / WEIGHTS),
                headers={"Content-Length": str(length)},
                timeout=LOAD_SECONDS + length / _PART_BYTES,
            )
        except httpx.HTTPError as error:
            raise ServerLost(str(error) or type(error).__name__) from error
        _check(answer)

    async def unload(self, name: str) -> None:
        try:
            _check(await self._client.delete(f"/adapters/{quote(name, safe='')}", timeout=LOAD_SECONDS))
        except httpx.HTTPError as error:
            raise ServerLost(str(error) or type(error).__name__) from error


class HostedServer:
    def __init__(
        self, source: HostSource, *, notify: Notify = lambda _: None, progress: Progress = lambda _: None
    ) -> None:
        self._source, self._notify, self._progress = source, notify, progress
        self._root = private_folder("lease")
        self.adapters = self._root / "adapters"
        self.adapters.mkdir()
        self.stopped: Callable[[], bool] = lambda: False
        self.quiet_seconds = QUIET_SECONDS
        self.api: LeaseApi | None = None
        self.facts: HostFacts | None = None
        self._link: _Link | None = None
        self._restarts, self._tries = 0, 0
        self._failed: tuple[int, int] | None = None

    async def ready(self) -> Api:
        if self.api is not None:
            return self.api
        started, facts = time.monotonic(), None
        while facts is None:
            if self._link is None or not await asyncio.to_thread(self._link.renew):
                await self._unlink()
                self._link = _Link(*await asyncio.to_thread(self._source.open))
            facts = await self._until_ready(self._link, started)
        assert self._link is not None
        self.facts, self.api = facts, LeaseApi(self._link.address, self._link.lease.lease)
        return self.api

    async def awake(self) -> Api:
        return await self.ready()

    async def rest(self) -> None:
        """Nothing: others use the server."""

    async def restart(self, why: str) -> Api:
        """Wait for the host's next vLLM, or open a lease on the next host."""
        # Requests fail until the host has noticed it: that is one failure of one vLLM.
        server = None if self.facts is None else (self.facts.pid, self.facts.starts)
        self._restarts += server is None or server != self._failed
        self._failed, self._tries = server, self._tries + 1
        if self._restarts > RESTARTS or self._tries > TRIES:
            raise self._failure(
                f"The vLLM of {self._source.name} failed {self._restarts} times: {why}",
                "vllm_lost",
                "The engine host's log says why. Resume the job when it works again.",
            )
        self._notify(f"The vLLM of {self._source.name} failed ({why}); waiting for the next one")
        await self._disconnect()
        await asyncio.sleep(_LOOK_SECONDS)  # until the host has noticed it
        return await self.ready()

    def refusal(self, what: str, why: str) -> JobFailure:
        return self._failure(
            f"The vLLM of {self._source.name} does not take {what}: {why}",
            "vllm_refused",
            "docs/engines.md says what vLLM can sample from; rollout.engine transformers has no such limits.",
        )

    async def close(self) -> None:
        await self._disconnect()
        await self._unlink()
        shutil.rmtree(self._root, ignore_errors=True)

    async def _disconnect(self) -> None:
        api, self.api = self.api, None
        if api is not None:
            await api.close()

    async def _unlink(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            await asyncio.to_thread(link.close)

    async def _until_ready(self, link: "_Link", started: float) -> HostFacts | None:
        reported = ""
        while (facts := await asyncio.to_thread(link.facts)) is not None:
            if facts.state == "ready":
                self._notify(f"Sampling on {self._source.name}, which has {facts.leases} clients")
                return facts
            if facts.state == "failed":
                raise EngineFailure(
                    facts.failure or "vLLM did not start on the engine host.",
                    "vllm_start_failed",
                    "The end of its log says why; docs/engines.md lists what it needs.",
                    facts.log_end,
                )
            if self.stopped():
                raise Stopped
            if time.monotonic() - started > START_SECONDS:
                raise self._failure(
                    f"The vLLM of {self._source.name} did not start in time.",
                    "vllm_start_failed",
                    "The engine host's log says why.",
                )
            if facts.stage[2] != reported:
                reported = facts.stage[2]
                self._progress(Stage(*facts.stage))
            await asyncio.sleep(_LOOK_SECONDS)
        return None

    def _failure(self, message: str, code: str, hint: str) -> JobFailure:
        return EngineFailure(message, code, hint, "")


class _Link:
    """A lease with its heartbeat, in a thread: the trainer computes in the event loop's own thread."""

    def __init__(self, address: HostAddress, lease: HostLease) -> None:
        self.address, self.lease, self._client = address, lease, address.client()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._heartbeat, name="engine-host", daemon=True)
        self._thread.start()

    def renew(self) -> bool:
        try:
            return self._client.put(f"/v1/leases/{self.lease.lease}").status_code == 204
        except httpx.HTTPError:
            return False

    def facts(self) -> HostFacts | None:
        try:
            answer = self._client.get("/v1/host")
            return HostFacts.model_validate_json(answer.content) if answer.status_code == 200 else None
        except (httpx.HTTPError, ValueError):
            return None

    def close(self) -> None:
        self._ending.set()
        self._thread.join()
        with contextlib.suppress(httpx.HTTPError):  # it ends without heartbeats, too
            self._client.delete(f"/v1/leases/{self.lease.lease}")
        self._client.close()

    def _heartbeat(self) -> None:
        while not self._ending.wait(self.lease.seconds / 4):
            self.renew()


async def _parts(config: bytes, weights: Path) -> AsyncGenerator[bytes, None]:
    yield config
    with weights.open("rb") as file:
        while part := file.read(_PART_BYTES):
            yield part


def _check(answer: httpx.Response) -> None:
    if answer.is_success:
        return
    try:
        why = str(answer.json()["error"]["message"])
    except (ValueError, KeyError, TypeError):
        why = answer.text[:500]
    raise (
        ServerRefused(why) if answer.status_code < 500 else ServerLost(f"status {answer.status_code}: {why}")
    )
