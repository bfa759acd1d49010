"""An engine host: leases, their adapters, and the vLLM server that they share."""

import asyncio
import logging
import os
import re
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from reinforge.errors import InvalidInput, StateConflict, Unavailable
from worker.engine_host.batch_turns import BatchTurns
from worker.engine_host.leases import HeldAdapter, Holder, Leases
from worker.engine_host.protocol import LEASE_SECONDS, PROTOCOL, HostFacts, LeaseRequest
from worker.engine_host.shared_sampler import MakeServer, SharedSampler
from worker.engine_host.uploads import MAX_ADAPTER_BYTES, receive
from worker.rollout.vllm.api import ServerLost, ServerRefused

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
MAX_HELD = 64


@dataclass(frozen=True, slots=True)
class HostLimits:
    release: str
    vllm: str
    model_sha256: str
    dtype: str
    device: str
    max_model_len: int
    max_rank: int


class EngineHost:
    """For one event loop."""

    def __init__(
        self,
        limits: HostLimits,
        make_server: MakeServer,
        folder: Path,
        *,
        lease_seconds: float = LEASE_SECONDS,
        most_bytes: int = MAX_ADAPTER_BYTES,
    ) -> None:
        self.limits, self._folder, self._most_bytes = limits, folder, most_bytes
        folder.mkdir(mode=0o700, exist_ok=True)
        self.leases = Leases(seconds=lease_seconds)
        self.sampler = SharedSampler(make_server, lambda: self.leases.adapters)
        self.turns = BatchTurns(apart=limits.device == "cpu")
        self._leaving: list[tuple[Holder, HeldAdapter]] = []
        self._serial = 0

    def facts(self) -> HostFacts:
        limits, sampler = self.limits, self.sampler
        failure, stage = sampler.failure, sampler.stage
        return HostFacts(
            protocol=PROTOCOL,
            release=limits.release,
            vllm=limits.vllm,
            model_sha256=limits.model_sha256,
            dtype=limits.dtype,
            device=limits.device,
            max_model_len=limits.max_model_len,
            max_rank=limits.max_rank,
            max_adapters=MAX_HELD,
            state=sampler.state,
            stage=(stage.done, stage.total, stage.text),
            failure=None if failure is None else failure.message,
            log_end=getattr(failure, "traceback", ""),
            starts=sampler.starts,
            leases=len(self.leases),
            adapters=len(self.leases.adapters),
            pid=os.getpid(),
            server_pid=sampler.server_pid,
        )

    def open(self, request: LeaseRequest) -> Holder:
        """Raises StateConflict `sampler_host_mismatch` or `sampler_host_too_small`."""
        self._check(request)
        holder = self.leases.open(request.client, request.worker)
        self.sampler.start()
        return holder

    def _check(self, request: LeaseRequest) -> None:
        limits = self.limits
        pairs = (
            ("protocol", PROTOCOL, request.protocol),
            ("model", limits.model_sha256, request.model_sha256),
            ("dtype", limits.dtype, request.dtype),
        )
        for what, own, requested in pairs:
            if own != requested:
                raise StateConflict(
                    f"The engine host has {what} {own}, the job needs {requested}.",
                    code="sampler_host_mismatch", param=what,
                )  # fmt: skip
        sizes = (
            ("longest", limits.max_model_len, request.longest, "tokens in a row"),
            ("rank", limits.max_rank, request.rank, "as an adapter's rank"),
        )
        for what, most, requested_size, unit in sizes:
            if requested_size > most:
                raise StateConflict(
                    f"The engine host takes up to {most} {unit}, the job needs {requested_size}.",
                    code="sampler_host_too_small", param=what,
                )  # fmt: skip

    async def load(self, holder: Holder, name: str, config_bytes: int, body: AsyncIterator[bytes]) -> None:
        """Store and load an adapter. Again the same one under its name is no error. Raises InvalidInput,
        StateConflict, Unavailable.
        """
        async with holder.loading:
            self.leases.check_room()
            self._serial += 1
            # vLLM caches prompts by adapter name and folder, so neither is reused.
            safe = re.sub(r"[^A-Za-z0-9._-]", "", name)[:200]
            full = f"{holder.prefix}-{safe}-{self._serial}"
            digest = await receive(
                name,
                config_bytes,
                body,
                self._folder / full,
                max_rank=self.limits.max_rank,
                most=self._most_bytes,
            )
            adapter = HeldAdapter(full, self._folder / full, digest)
            try:
                if not self._has(holder, name, digest):
                    await self._load(adapter)
                    self.leases.renew(holder.id)  # it may have ended meanwhile
                    holder.adapters[name] = adapter
            finally:
                if holder.adapters.get(name) is not adapter:
                    shutil.rmtree(adapter.folder, ignore_errors=True)

    def _has(self, holder: Holder, name: str, digest: str) -> bool:
        present = holder.adapters.get(name)
        if present is None:
            return False
        if present.sha256 != digest:
            raise StateConflict(
                f"The lease has another adapter {name!r}.", code="adapter_name_taken", param="name"
            )
        self.sampler.api()
        return True

    async def _load(self, adapter: HeldAdapter) -> None:
        api = self.sampler.api()
        try:
            await api.load(adapter.name, adapter.folder)
        except ServerRefused as error:
            raise InvalidInput(f"vLLM does not take the adapter: {error}", code="adapter_refused") from error
        except ServerLost as error:
            await self.sampler.lost(api, str(error))
            raise Unavailable(f"vLLM failed: {error}", code="sampler_lost") from error

    async def unload(self, holder: Holder, adapter: HeldAdapter) -> None:
        for name, held in list(holder.adapters.items()):
            if held is adapter:
                del holder.adapters[name]
        self._leaving.append((holder, adapter))
        await self._forget(adapter)

    async def close_lease(self, id: str) -> None:
        holder = self.leases.close(id)
        if holder is None:
            return
        for task in list(holder.running):
            task.cancel()
        adapters = list(holder.adapters.values())
        holder.adapters.clear()
        self._leaving += [(holder, adapter) for adapter in adapters]
        for adapter in adapters:
            await self._forget(adapter)

    async def _forget(self, adapter: HeldAdapter) -> None:
        try:
            api = self.sampler.api()
        except Unavailable:
            return  # the next server does not get it
        try:
            await api.unload(adapter.name)
        except ServerRefused as error:
            log.warning("vLLM does not unload %s: %s", adapter.name, error)
        except ServerLost as error:
            await self.sampler.lost(api, str(error))

    async def look(self) -> None:
        """End expired leases, delete folders of dropped adapters that no request reads, restart a hung server."""
        for id in self.leases.expired():
            log.info("the lease %s… has ended without its client", id[:12])
            await self.close_lease(id)
        done = [(holder, adapter) for holder, adapter in self._leaving if not holder.running]
        self._leaving = [entry for entry in self._leaving if entry[0].running]
        for _, adapter in done:
            shutil.rmtree(adapter.folder, ignore_errors=True)
        await self.sampler.look()

    async def watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self.look()
            except Exception:
                log.exception("looking after the leases failed")

    async def close(self) -> None:
        await self.sampler.close()
        shutil.rmtree(self._folder, ignore_errors=True)
