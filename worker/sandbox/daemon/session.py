"""One running jail, used from the daemon's event loop."""

import asyncio
import json
import socket
import struct
import subprocess
import time
from collections.abc import Sequence

from worker.sandbox.daemon.parse import ProtocolError
from worker.sandbox.jailed import region
from worker.sandbox.jailed.watch import STARVED_GRACE
from worker.sandbox.jails import Jail, Running
from worker.sandbox.limits import JAIL_CALLS, JAIL_SECONDS, ProgramLimits, Timeouts
from worker.sandbox.transport import frames

_START_SECONDS = 20.0
_PRELOAD_SECONDS = 90.0
_GRACE_SECONDS = 15.0


class JailDied(Exception):
    """The jail did not start, hung or broke the protocol: never a row's fault."""


class Session:
    """A started zygote. Kill it after any exception."""

    def __init__(self, running: Running, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        self._running = running
        self._reader = reader
        self._writer = writer
        self._born = time.monotonic()
        self._calls = 0
        self.uid = -1
        self.python = ""
        self.landlock_abi = 0

    @classmethod
    async def start(cls, jail: Jail) -> "Session":
        """Launch a zygote and wait until it is locked down; raises :class:`JailDied`."""
        ours, theirs = socket.socketpair()
        try:
            running = jail.launch(theirs)
        except (OSError, subprocess.SubprocessError) as error:
            ours.close()
            raise JailDied(f"the jail's interpreter did not start: {error}") from error
        finally:
            theirs.close()
        reader, writer = await asyncio.open_connection(sock=ours, limit=frames.BUFFER_BYTES)
        session = cls(running, reader, writer)
        try:
            configuration = json.dumps(jail.configuration()).encode()
            writer.write(struct.pack("<I", len(configuration)) + configuration)
            payload = await session._receive(region.READY, 4096, _START_SECONDS)
            running.settled()
            _, session.uid, session.landlock_abi, *version = region.HELLO.unpack(payload)
            session.python = ".".join(map(str, version))
        except (JailDied, OSError, struct.error) as error:
            running.kill()
            last_words = await asyncio.to_thread(running.last_words)
            await session.kill()
            raise JailDied(f"{error}: {last_words}" if last_words else str(error)) from error
        except asyncio.CancelledError:
            await session.kill()
            raise
        return session

    @property
    def worn_out(self) -> bool:
        old = self._calls >= JAIL_CALLS or time.monotonic() - self._born > JAIL_SECONDS
        return old or self._running.ended()

    @property
    def pid(self) -> int:
        return self._running.pid

    async def begin(
        self,
        body: bytes,
        rows: int,
        budgets: Sequence[float],
        timeouts: Timeouts,
        seconds_left: float,
        texts: region.Texts = region.REWARD_TEXTS,
    ) -> bytes:
        self._calls += 1
        operation = region.OP_TOOLS if texts is region.TOOL_TEXTS else region.OP_CALL
        head = region.CALL.pack(
            operation, rows, len(budgets), 0, len(body), seconds_left, timeouts.load, timeouts.cpu
        )
        self._writer.write(head + struct.pack(f"<{len(budgets)}d", *budgets))
        self._writer.write(body)
        return await self._receive(
            region.REPLY, region.reply_cap(rows, texts=texts), seconds_left + _GRACE_SECONDS
        )

    async def run_program(
        self, body: bytes, stdin: bytes, limits: ProgramLimits, seconds_left: float
    ) -> bytes:
        self._calls += 1
        seconds_left = min(seconds_left, STARVED_GRACE * limits.wall + 1)
        size = len(body) + len(stdin)
        # a second more than the wall: a busy loop is reported as a timeout, not as a CPU limit
        head = region.CALL.pack(region.OP_PROGRAM, 1, 1, 0, size, seconds_left, limits.wall, limits.wall + 1)
        extra = region.PROGRAM.pack(len(stdin), limits.output, limits.memory)
        self._writer.write(b"".join((head, extra, struct.pack("<d", limits.wall), body, stdin)))
        cap = region.reply_cap(1, limits.output + 1)
        return await self._receive(region.REPLY, cap, seconds_left + _GRACE_SECONDS)

    async def resume(
        self, unit: int, rows: int, seconds_left: float, texts: region.Texts = region.REWARD_TEXTS
    ) -> bytes:
        self._writer.write(region.CALL.pack(region.OP_RESUME, rows, 0, unit, 0, seconds_left, 0.0, 0.0))
        return await self._receive(
            region.REPLY, region.reply_cap(rows, texts=texts), seconds_left + _GRACE_SECONDS
        )

    async def preload(self, modules: Sequence[str]) -> str:
        body = "\n".join(modules).encode()
        self._writer.write(region.CALL.pack(region.OP_PRELOAD, 0, 0, 0, len(body), 0.0, 0.0, 0.0) + body)
        return (await self._receive(region.PRELOADED, 4096, _PRELOAD_SECONDS)).decode("utf-8", "replace")

    def forget(self) -> None:
        self._writer.write(region.CALL.pack(region.OP_FORGET, 0, 0, 0, 0, 0.0, 0.0, 0.0))

    async def kill(self) -> None:
        self._running.kill()
        self._writer.close()
        await asyncio.to_thread(self._running.wait)

    async def _receive(self, kind: int, cap: int, seconds: float) -> bytes:
        try:
            async with asyncio.timeout(seconds):
                await self._writer.drain()
                head = await self._reader.readexactly(region.FRAME.size)
                magic, received, size = region.FRAME.unpack(head)
                if magic != region.MAGIC or size > cap:
                    raise ProtocolError("the jail's answer is not a valid frame")
                payload = await self._reader.readexactly(size)
        except TimeoutError:
            raise JailDied("the jail did not answer in time") from None
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise JailDied("the jail ended unexpectedly") from error
        except ProtocolError as error:
            raise JailDied(str(error)) from error
        if received == region.FAILED:
            raise JailDied(payload.decode("utf-8", "replace")[:500])
        if received != kind:
            raise JailDied("the jail sent an answer of an unexpected kind")
        return payload
