"""The sandbox daemon, on a Unix socket or over TLS.

No option, environment variable or fallback runs a reward outside a jail that passed the probe.
"""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any

from worker.sandbox.daemon.calls import BadRequest, ScoringCall
from worker.sandbox.daemon.peers import Listener
from worker.sandbox.daemon.pool import CallTicket, Pool
from worker.sandbox.daemon.probe import Proof, choose
from worker.sandbox.jails import JAILS, Jail
from worker.sandbox.jails.prefix import PrefixError, ensure_prefix
from worker.sandbox.outcome import SandboxStatus
from worker.sandbox.programs import ProgramCall
from worker.sandbox.transport import frames
from worker.sandbox.transport.tls import KeyFile

_PROVE_AGAIN_SECONDS = 3600.0
_UNPROVED_RETRY_SECONDS = 60.0


class Sandboxd:
    def __init__(
        self,
        path: Path | None,
        size: int,
        letters: Sequence[str] = tuple(JAILS),
        make_jails: Callable[[Sequence[str]], list[Jail]] | None = None,
        *,
        tcp: tuple[str, int] | None = None,
        key: KeyFile | None = None,
    ) -> None:
        self._path = path
        self._tcp, self._key = tcp, key
        self.port: int | None = None
        self._size = size
        self._letters = letters
        self._make_jails = make_jails or _make_jails
        self._jails: list[Jail] = []
        self._proofs = [Proof("", "no jail has been tested yet", {})]
        self._proved = asyncio.Event()
        self._again = asyncio.Event()
        self._stopping = asyncio.Event()
        self._pool: Pool | None = None

    async def serve(self, ready: Callable[[SandboxStatus], None] = lambda _: None) -> None:
        """Run in the main thread until :meth:`stop`, SIGTERM or SIGINT."""
        listener = Listener(self.answer)
        if self._path is not None:
            await listener.open_unix(self._path)
        if self._tcp is not None and self._key is not None:
            self.port = await listener.open_tcp(*self._tcp, self._key)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        prover = asyncio.create_task(self._keep_proving())
        try:
            proved = asyncio.create_task(self._proved.wait())
            stopping = asyncio.create_task(self._stopping.wait())
            await asyncio.wait([proved, stopping, prover], return_when=asyncio.FIRST_COMPLETED)
            if proved.done():
                ready(self.status())
            await asyncio.wait([stopping, prover], return_when=asyncio.FIRST_COMPLETED)
        finally:
            prover.cancel()
            await asyncio.gather(prover, return_exceptions=True)
            await listener.close()
            if self._pool is not None:
                await self._pool.close()
            if self._path is not None:
                self._path.unlink(missing_ok=True)
        if not prover.cancelled() and (error := prover.exception()):
            raise error

    def stop(self) -> None:
        self._stopping.set()

    def status(self) -> SandboxStatus:
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
            if not self._jails:  # once: a program replaced on disk applies from the next daemon on
                self._jails = await asyncio.to_thread(self._make_jails, self._letters)
        except PrefixError as error:
            proofs = [Proof("", str(error), {})]
        else:
            chosen, proofs = await choose(sorted(self._jails, key=lambda jail: jail.name != used))
        if chosen is not None and chosen.name == used:
            earlier = [proof for proof in self._proofs if not proof.held and proof.jail != used]
            self._proofs = [*earlier, *proofs]
            return
        pool, self._pool = self._pool, Pool(chosen, self._size) if chosen is not None else None
        self._proofs = proofs
        if pool is not None:
            await pool.close()

    async def answer(self, request: dict[str, Any], body: bytes, peer: Hashable) -> frames.Packed:
        await self._proved.wait()
        operation = request.get("op")
        if operation == "status":
            return frames.pack(self.status())
        if operation not in ("score", "validate", "tools", "programs"):
            raise BadRequest(f"unknown operation {operation!r}")
        kind = ProgramCall if operation == "programs" else ScoringCall
        call = kind.from_request(request, body)
        if self._pool is None:
            return frames.pack(call.failed("sandbox_unavailable", "; ".join(self.status().reasons)))
        required = request.get("jail")
        if required is not None and required != self._pool.jail.name:
            text = (
                f"the run began in jail {required}, which now fails the probe; "
                f"jail {self._pool.jail.name} passes it"
            )
            return frames.pack(call.failed("sandbox_unavailable", text))
        ticket = CallTicket(call)
        self._pool.submit(peer, ticket)
        try:
            answer = await ticket.answer
        finally:
            ticket.cancel()
        if answer.status == "sandbox_error":
            self._again.set()
        return frames.pack(answer)


def _make_jails(letters: Sequence[str]) -> list[Jail]:
    prefix = ensure_prefix()
    return [make(prefix) for letter, make in JAILS.items() if letter in letters]
