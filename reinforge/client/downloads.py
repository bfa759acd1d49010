"""Files from the server, written whole or not at all."""

from collections.abc import Callable
from pathlib import Path

from reinforge.client.transport import Transport

CHUNK = 1 << 20

Progress = Callable[[int, int | None], None]
"""Called with bytes so far, and all of them where the server says how many."""


def save(transport: Transport, path: str, to: str | Path, *, progress: Progress | None = None) -> Path:
    """Write what the server has at `path` to the file `to`."""
    to = Path(to)
    to.parent.mkdir(parents=True, exist_ok=True)
    partial = to.with_name(f".{to.name}.partial")
    with transport.stream(path) as response:
        total = int(response.headers["content-length"]) if "content-length" in response.headers else None
        done = 0
        with partial.open("wb") as out:
            for chunk in response.iter_bytes(CHUNK):
                out.write(chunk)
                done += len(chunk)
                if progress:
                    progress(done, total)
    partial.replace(to)
    return to
