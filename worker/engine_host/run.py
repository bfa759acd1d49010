"""Runs an engine host: over a Unix socket for this machine's clients, or over TLS for those of others."""

import asyncio
import contextlib
import logging
import os
import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from reinforge import __version__
from worker.engine_host.app import application
from worker.engine_host.client.local import LOCK, NOTE, HostNote, locked, write_note
from worker.engine_host.folders import private_folder
from worker.engine_host.host import LOOK_SECONDS, EngineHost, HostLimits
from worker.engine_host.protocol import LEASE_SECONDS, LocalProcess
from worker.rollout.vllm.options import Options, allowed_rank
from worker.rollout.vllm.server import VllmServer

log = logging.getLogger(__name__)

KEEP_ALIVE_SECONDS = 75
GRACE_SECONDS = 2


@dataclass(frozen=True, slots=True)
class HostPlan:
    options: Options
    model_sha256: str
    python: Path
    vllm: str
    log: Path
    lease_seconds: float = LEASE_SECONDS

    def host(self, folder: Path) -> EngineHost:
        limits = HostLimits(
            release=__version__,
            vllm=self.vllm,
            model_sha256=self.model_sha256,
            dtype=self.options.dtype,
            device=self.options.device,
            max_model_len=self.options.max_model_len,
            max_rank=allowed_rank(self.options.rank),
        )
        return EngineHost(
            limits,
            lambda progress: VllmServer(
                self.python, self.options, self.log, notify=log.info, progress=progress
            ),
            folder / "adapters",
            lease_seconds=self.lease_seconds,
        )


class HostServer(uvicorn.Server):
    """Ends at a signal after its clean-up: uvicorn's own server would raise the signal again before that."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._end)
        yield

    def _end(self) -> None:
        self.should_exit = True


async def serve_local(plan: HostPlan, home: Path, idle_seconds: float) -> None:
    """Serve this machine's clients until the host is unused: for `idle_seconds`, or at once if their workers
    have ended too.
    """
    folder = private_folder("host")
    host = plan.host(folder)
    ending = LocalEnd(host, home, idle_seconds)
    app = application(host, token=None, end=ending.end_unused)
    server = HostServer(_config(app, uds=str(folder / "s")))
    ending.server = server
    own = LocalProcess.of(os.getpid())
    assert own is not None
    note = HostNote(socket=folder / "s", folder=folder, process=own)
    tasks = [asyncio.create_task(host.watch()), asyncio.create_task(ending.watch())]
    tasks.append(asyncio.create_task(_announce(home, note)))
    try:
        await server.serve()
    finally:
        ending.remove_note()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await host.close()
        shutil.rmtree(folder, ignore_errors=True)


async def _announce(home: Path, note: HostNote) -> None:
    while not note.socket.exists():
        await asyncio.sleep(0.01)
    write_note(home, note)


class LocalEnd:
    """Decides when a local host ends. Clients open leases under a lock, so that none meets one that ends."""

    def __init__(self, host: EngineHost, home: Path, idle_seconds: float) -> None:
        self._host, self._home, self._idle_seconds = host, home, idle_seconds
        self.server: uvicorn.Server | None = None

    def end_unused(self) -> bool:
        """End the host for a client that holds the lock. False if it is in use."""
        if len(self._host.leases):
            return False
        self._end("its next client needs another one")
        return True

    async def watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            leases = self._host.leases
            if len(leases):
                continue
            if leases.workers_ended:
                self._end_locked("the workers of all its clients have ended")
            elif leases.unused_seconds > self._idle_seconds:
                self._end_locked(f"it was unused for {self._idle_seconds:g} s")

    def _end_locked(self, why: str) -> None:
        try:
            with locked(self._home / LOCK, wait=False) as free:
                if free and not len(self._host.leases):
                    self._end(why)
        except OSError as error:  # its home is gone, so no client can find it
            self._end(f"{why}, and its home cannot be used: {error}")

    def _end(self, why: str) -> None:
        log.info("the engine host ends: %s", why)
        self.remove_note()
        assert self.server is not None
        self.server.should_exit = True

    def remove_note(self) -> None:
        with contextlib.suppress(OSError):
            (self._home / NOTE).unlink()


@dataclass(frozen=True, slots=True)
class HostListener:
    host: str
    port: int
    token: str
    certificate: Path | None
    key: Path | None


async def serve_remote(plan: HostPlan, listener: HostListener) -> None:
    """Serve clients with the token until a signal."""
    folder = private_folder("host")
    host = plan.host(folder)
    app = application(host, token=listener.token)
    tls = (
        {}
        if listener.certificate is None
        else {"ssl_certfile": listener.certificate, "ssl_keyfile": listener.key}
    )
    server = HostServer(_config(app, host=listener.host, port=listener.port, **tls))
    watch = asyncio.create_task(host.watch())
    host.sampler.start()
    try:
        await server.serve()
    finally:
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)
        await host.close()
        shutil.rmtree(folder, ignore_errors=True)


def _config(app: ASGIApp, **where: object) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        lifespan="off",
        log_config=None,
        access_log=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
        **where,  # type: ignore[arg-type]
    )
