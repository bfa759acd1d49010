"""Files from the server, written whole or not at all."""

# Made from reinforge/client/downloads.py by scripts/async_client.py: change that one.

from pathlib import Path

from reinforge.client.aio.transport import AsyncTransport
from reinforge.client.downloads import CHUNK, Progress


async def save(
    transport: AsyncTransport, path: str, to: str | Path, *, progress: Progress | None = None
) -> Path:
    """Write what the server has at `path` to the file `to`."""
    to = Path(to)
    to.parent.mkdir(parents=True, exist_ok=True)
    partial = to.with_name(f".{to.name}.partial")
    async with transport.stream(path) as response:
        total = int(response.headers["content-length"]) if "content-length" in response.headers else None
        done = 0
        with partial.open("wb") as out:
            async for chunk in response.aiter_bytes(CHUNK):
                out.write(chunk)
                done += len(chunk)
                if progress:
                    progress(done, total)
    partial.replace(to)
    return to
