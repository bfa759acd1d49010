"""Immutable files named by SHA-256, streamed to and from the object store."""

from collections.abc import AsyncIterator
from pathlib import Path

from backend.data.objects import Objects
from backend.http.spool import spool
from reinforge.errors import InvalidInput
from reinforge.storage.base import scratch_file


async def receive(
    objects: Objects, body: AsyncIterator[bytes], *, sha256: str, kind: str, folder: Path, limit: int
) -> bool:
    with scratch_file(folder, "blob-") as file:
        size, digest = await spool(body, file, limit)
        if digest != sha256:
            raise InvalidInput(
                f"The body's SHA-256 is {digest}, not {sha256}.",
                code="blob_mismatch",
                hint="The object was damaged or changed while it was sent; send it again.",
            )
        return await objects.keep_file(Path(file.name), sha256=sha256, bytes=size, kind=kind)
