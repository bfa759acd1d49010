# Generated from reinforge/client/aio/downloads.py by scripts/sync_client.py: change that file.
"""Downloads of files, written completely or not at all."""

import tarfile
from pathlib import Path

from reinforge.client.shared import CHUNK, Progress
from reinforge.client.sync.transport import Transport
from reinforge.system.archives import unpack


def save(transport: Transport, path: str, to: str | Path, *, progress: Progress | None = None) -> Path:
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


def extract(transport: Transport, path: str, to: str | Path) -> Path:
    """Download the `.tar.gz` at `path` and unpack it into the folder `to`; returns the adapter's folder."""
    to = Path(to)
    archive = save(transport, path, to.parent / f".{to.name}.tar.gz")
    try:
        to.mkdir(parents=True, exist_ok=True)
        with tarfile.open(archive) as tar:
            unpack(tar, to)
    finally:
        archive.unlink()
    inner = [p for p in to.iterdir() if p.is_dir()]
    return inner[0] if not (to / "adapter_config.json").exists() and len(inner) == 1 else to
