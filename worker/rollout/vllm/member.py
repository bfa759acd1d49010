"""A vLLM server of a fleet."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from reinforge.errors import JobFailure
from worker.rollout.vllm.adapters import Adapters, Version
from worker.rollout.vllm.api import Api, ServerLost, ServerRefused
from worker.rollout.vllm.engine import Probe, VllmEngine
from worker.rollout.vllm.server import SamplerServer


class MemberLost(Exception):
    """A server of a fleet failed."""


class FleetServer:
    """`SamplerServer` that leaves restarts to the fleet."""

    def __init__(self, server: SamplerServer) -> None:
        self._server = server
        self.adapters, self.quiet_seconds = server.adapters, server.quiet_seconds
        self.stopped = lambda: False

    async def ready(self) -> Api:
        return await self._server.ready()

    async def awake(self) -> Api:
        return await self._server.awake()

    async def rest(self) -> None:
        await self._server.rest()

    async def restart(self, why: str) -> Api:
        raise MemberLost(why)

    def refusal(self, what: str, why: str) -> JobFailure:
        return self._server.refusal(what, why)

    async def close(self) -> None:
        await self._server.close()


class FleetMember:
    """A server of a fleet, with an engine that samples on it until it fails. rows: most rows at once."""

    def __init__(
        self, name: str, server: SamplerServer, rows: int, adapters: Adapters, probe: Probe | None = None
    ) -> None:
        self.name, self.server, self.rows = name, server, rows
        self.engine = VllmEngine(FleetServer(server), _no_export, probe=probe, adapters=adapters)
        self.state: Literal["live", "restarting", "lost"] = "live"

    async def start(self) -> str | None:
        """Returns vLLM's version, if known. Raises JobFailure, Stopped."""
        try:
            return await (await self.server.ready()).version()
        except (ServerLost, ServerRefused) as error:
            raise JobFailure(
                f"{self.name} does not answer: {error}",
                code="vllm_start_failed",
                hint="Its log says why; docs/engines.md lists what it needs.",
            ) from error

    async def load(self, version: Version) -> None:
        """Load an adapter. Raises ServerLost, also if the server refuses it."""
        try:
            await (await self.server.awake()).load(version.name, version.folder)
        except ServerRefused as error:
            raise ServerLost(f"it does not take the adapter: {error}") from error

    async def unload(self, name: str) -> None:
        # One that has been restarted since does not have it.
        with contextlib.suppress(ServerRefused):
            await (await self.server.awake()).unload(name)

    async def rest(self) -> None:
        try:
            await self.server.rest()
        except ServerRefused as error:
            raise self.server.refusal("the request to sleep", str(error)) from error

    async def load_again(self, version: Version) -> None:
        """Load an adapter after a restart. Raises JobFailure, ServerLost."""
        try:
            await (await self.server.awake()).load(version.name, version.folder)
        except ServerRefused as error:
            raise self.server.refusal("the adapter", str(error)) from error


def check_versions(names: Sequence[str], versions: Sequence[str | None]) -> None:
    """Raise JobFailure `vllm_version_mismatch` if the servers' versions differ. None: unknown."""
    stated = [(name, version) for name, version in zip(names, versions, strict=True) if version is not None]
    for name, version in stated:
        if version != stated[0][1]:
            raise JobFailure(
                f"{name} runs vLLM {version}, but {stated[0][0]} runs {stated[0][1]}: they would sample differently.",
                code="vllm_version_mismatch",
                hint="Install the same version of vLLM for all servers of the job, then resume it.",
                retryable=True,
            )


def _no_export(policy: str, folder: Path) -> None:
    raise AssertionError("a fleet exports adapters itself")
