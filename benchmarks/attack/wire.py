"""Raw HTTP on asyncio, cheap for the sender: bytes are prepared once, of an answer only its status is looked at."""

import asyncio
import contextlib
import json
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

CHUNK = 64 * 1024
READ_SECONDS = 90.0


def head(method: str, path: str, length: int | None = None, **headers: str) -> bytes:
    """Of a request on a connection of its own. length: the announced size of its body."""
    lines = [f"{method} {path} HTTP/1.1", "host: 127.0.0.1", "connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    if length is not None:
        lines += ["content-type: application/json", f"content-length: {length}"]
    return "\r\n".join([*lines, "", ""]).encode()


class Sender:
    """Sends requests, each on a connection of its own, and counts the answers by kind."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.answers: Counter[str] = Counter()
        """`kind status`; `closed`: the connection ended without an answer, `left`: we hung up."""
        self.sent_bytes = 0

    async def send(self, kind: str, *parts: bytes, hang_up: float = READ_SECONDS, most: int = 2**20) -> str:
        """One request; at most `most` bytes of its answer are read. hang_up: seconds until we leave without one."""
        writer, status = None, "closed"
        try:
            async with asyncio.timeout(hang_up):
                reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
                writing = asyncio.ensure_future(self._write(writer, parts))
                try:
                    line = await reader.readline()
                    status = line.split()[1].decode() if line.count(b" ") else "closed"
                    while most > 0 and (piece := await reader.read(CHUNK)):
                        most -= len(piece)
                finally:
                    writing.cancel()
        except asyncio.CancelledError:
            status = "open at the end" if status == "closed" else status
            raise
        except TimeoutError:
            status = status if status != "closed" else "left"
        except (OSError, ValueError):
            pass
        finally:
            if writer is not None:
                writer.transport.abort()
            self.answers[f"{kind} {status}"] += 1
        return status

    async def _write(self, writer: asyncio.StreamWriter, parts: tuple[bytes, ...]) -> None:
        with contextlib.suppress(OSError):
            for part in parts:
                for at in range(0, len(part), CHUNK):
                    writer.write(part[at : at + CHUNK])
                    self.sent_bytes += min(CHUNK, len(part) - at)
                    await writer.drain()


async def until_deadline(work: list[Callable[[], Awaitable[None]]]) -> None:
    """Run each piece of work again and again until standard input ends, as it does when whoever started us ends."""
    tasks = [asyncio.create_task(_again(action)) for action in work]
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _again(work: Callable[[], Awaitable[None]]) -> None:
    while True:
        await work()


def report(path: str, sender: Sender) -> None:
    result = {"answers": dict(sorted(sender.answers.items())), "sent_bytes": sender.sent_bytes}
    Path(path).write_text(json.dumps(result))
