"""sandboxd: the daemon that answers ``score``, ``validate`` and ``status`` on a Unix socket.

It proves a jail before it answers anything, the strongest first, again every hour and after a jail failed. The jail
in use stays as long as it holds: a run that began in one is never continued in another without being told. Without
a proved jail every score is ``sandbox_unavailable`` with the reasons. There is no way to run a reward outside a
jail: no option, no environment variable, no fallback.
"""

import asyncio
import contextlib
import os
import signal
import socket
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from . import wire
from .calls import BadRequest, Call
from .jails import JAILS, Jail
from .outcome import CallOutcome, SandboxStatus, Validation
from .pool import Pool, Ticket
from .prefix import PrefixError, ensure_prefix
from .probe import Proof, choose

_PROVE_AGAIN_SECONDS = 3600.0
_UNPROVED_RETRY_SECONDS = 60.0
_CREDENTIALS = struct.Struct("iII")
_WAITING_PER_CONNECTION = 64


class Sandboxd:
    """One daemon: ``serve`` until ``stop`` is called or SIGTERM or SIGINT arrives."""

    def __init__(
        self,
        path: Path,
        size: int,
        letters: Sequence[str] = tuple(JAILS),
        make_jails: Callable[[Sequence[str]], list[Jail]] | None = None,
    ) -> None:
        self._path = path
        self._size = size
        self._letters = letters
        self._make_jails = make_jails or _make_jails
        self._jails: list[Jail] = []
        self._proofs = [Proof("", "no jail was tried yet", {})]
        self._proved = asyncio.Event()
        self._again = asyncio.Event()
        self._stopping = asyncio.Event()
        self._pool: Pool | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def serve(self, ready: Callable[[SandboxStatus], None] = lambda _: None) -> None:
        """Run the daemon in the main thread's event loop; ``ready`` is told the first proof's result."""
        listener = _listen(self._path)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        prover = asyncio.create_task(self._keep_proving())
        server = await asyncio.start_unix_server(self._connected, sock=listener)
        try:
            proved = asyncio.create_task(self._proved.wait())
            stopping = asyncio.create_task(self._stopping.wait())
            await asyncio.wait([proved, stopping, prover], return_when=asyncio.FIRST_COMPLETED)
            if proved.done():
                ready(self.status())
            await asyncio.wait([stopping, prover], return_when=asyncio.FIRST_COMPLETED)
        finally:
            server.close()
            tasks = [prover, *self._connections]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if self._pool is not None:
                await self._pool.close()
            self._path.unlink(missing_ok=True)
        if not prover.cancelled() and (error := prover.exception()):
            raise error

    def stop(self) -> None:
        self._stopping.set()

    def status(self) -> SandboxStatus:
        """Which jail is proved, or why none is."""
        refused = {proof.jail: proof.reason for proof in self._proofs if proof.reason is not None}
        failures = self._pool.failures if self._pool else 0
        facts = {**self._proofs[-1].facts, "pool": self._size, "failures": failures, "refused": refused}
        if self._pool is None:
            reasons = [f"jail {jail}: {reason}" if jail else reason for jail, reason in refused.items()]
            return SandboxStatus(False, None, reasons, facts)
        return SandboxStatus(True, self._pool.jail.name, [], {**facts, "jail_pids": self._pool.pids()})

    async def _keep_proving(self) -> None:
        while True:
            await self._prove()
            self._proved.set()
            pause = _PROVE_AGAIN_SECONDS if self._pool is not None else _UNPROVED_RETRY_SECONDS
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._again.wait(), pause)
            self._again.clear()

    async def _prove(self) -> None:
        used = self._pool.jail.name if self._pool is not None else None
        chosen: Jail | None = None
        try:
            if not self._jails:  # once: a program that is replaced on disk belongs to the next daemon
                self._jails = await asyncio.to_thread(self._make_jails, self._letters)
        except PrefixError as error:
            proofs = [Proof("", str(error), {})]
        else:
            chosen, proofs = await choose(sorted(self._jails, key=lambda jail: jail.name != used))
        if chosen is not None and chosen.name == used:
            kept = [proof for proof in self._proofs if not proof.held and proof.jail != used]
            self._proofs = [*kept, *proofs]
            return
        pool, self._pool = self._pool, Pool(chosen, self._size) if chosen is not None else None
        self._proofs = proofs
        if pool is not None:
            await pool.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            peer = _allowed_peer(writer.get_extra_info("socket"))
            if peer is not None:
                await Connection(self, reader, writer, peer).serve()
        finally:
            self._connections.discard(task)
            writer.close()

    async def answer(self, request: dict[str, Any], body: bytes, peer: int) -> dict[str, Any]:
        """Answer one request; raises :class:`BadRequest` for what no client sends."""
        await self._proved.wait()
        operation = request.get("op")
        if operation == "status":
            return wire.pack(self.status())
        if operation not in ("score", "validate"):
            raise BadRequest(f"unknown operation {operation!r}")
        call = Call.from_request(request, body)
        if self._pool is None:
            reason = "; ".join(self.status().reasons)
            if operation == "validate":
                return wire.pack(Validation("sandbox_unavailable", message=reason))
            return wire.pack(CallOutcome("sandbox_unavailable", message=reason))
        ticket = Ticket(call)
        self._pool.submit(peer, ticket)
        try:
            answer = await ticket.answer
        finally:
            ticket.cancel()
        if answer.status == "sandbox_error":
            self._again.set()
        return wire.pack(answer)


def _make_jails(letters: Sequence[str]) -> list[Jail]:
    prefix = ensure_prefix()
    return [make(prefix) for letter, make in JAILS.items() if letter in letters]


class Connection:
    """One peer: reads requests, answers each when it is done; drops its calls when the peer goes away."""

    def __init__(
        self, daemon: Sandboxd, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: int
    ):
        self._daemon = daemon
        self._reader = reader
        self._writer = writer
        self._peer = peer
        self._room = asyncio.Semaphore(_WAITING_PER_CONNECTION)
        self._answers: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        try:
            while True:
                await self._room.acquire()
                request = await self._read()
                if request is None:
                    return
                task = asyncio.create_task(self._answer(*request))
                self._answers.add(task)
                task.add_done_callback(self._answers.discard)
        finally:
            for task in self._answers:
                task.cancel()

    async def _read(self) -> tuple[dict[str, Any], bytes] | None:
        try:
            head, body = wire.sizes(await self._reader.readexactly(wire.SIZES.size))
            return wire.decode(await self._reader.readexactly(head)), await self._reader.readexactly(body)
        except (asyncio.IncompleteReadError, ConnectionError, wire.WireError):
            return None

    async def _answer(self, request: dict[str, Any], body: bytes) -> None:
        try:
            answer = {"id": request.get("id"), "result": await self._daemon.answer(request, body, self._peer)}
        except BadRequest as error:
            answer = {"id": request.get("id"), "error": str(error)}
        finally:
            self._room.release()
        with contextlib.suppress(ConnectionError):
            self._writer.write(wire.encode(answer))
            await self._writer.drain()


def _allowed_peer(connection: socket.socket) -> int | None:
    """The peer's process id if it is our user or root, else None."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, _ = _CREDENTIALS.unpack(raw)
    return pid if uid in (0, os.geteuid()) else None


def _listen(path: Path) -> socket.socket:
    """A listening socket of mode 0600; replaces one that nobody listens on; raises OSError."""
    if len(os.fsencode(path)) > wire.MAX_PATH_BYTES:
        raise OSError(f"the socket's path is longer than {wire.MAX_PATH_BYTES} bytes: {path}")
    listener = socket.socket(socket.AF_UNIX)
    if path.is_socket():
        with socket.socket(socket.AF_UNIX) as attempt:
            try:
                attempt.connect(str(path))
            except OSError:
                path.unlink()
            else:
                raise OSError(f"a sandbox daemon already listens on {path}")
    mask = os.umask(0o177)
    try:
        listener.bind(str(path))
    finally:
        os.umask(mask)
    listener.listen(64)
    return listener
