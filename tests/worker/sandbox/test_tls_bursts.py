"""More TLS handshakes at once than there may be."""

import asyncio
from pathlib import Path
from typing import NoReturn

from worker.sandbox.daemon.tls_server import MAX_HANDSHAKES, TlsServer
from worker.sandbox.transport.tls import KeyFile

from .network import write_key_file


def test_a_handshake_that_is_ended_before_it_begins_is_closed_too(tmp_path: Path) -> None:
    """A burst of connections is accepted before the first of their handshakes has taken a step."""

    class Transport(asyncio.Transport):
        aborted = False

        def abort(self) -> None:
            self.aborted = True

    class HangingHandshakes(TlsServer):
        async def _handshake(self, transport: asyncio.Transport) -> NoReturn:
            await asyncio.Event().wait()
            raise AssertionError

    async def serve(*_: object) -> None: ...

    async def burst() -> list[bool]:
        server = HangingHandshakes(KeyFile(write_key_file(tmp_path / "key.pem")), serve)
        transports = [Transport() for _ in range(MAX_HANDSHAKES + 3)]
        for transport in transports:
            server.accept(transport)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        aborted = [transport.aborted for transport in transports[:3]]
        await server.close()
        return aborted

    assert asyncio.run(burst()) == [True] * 3
