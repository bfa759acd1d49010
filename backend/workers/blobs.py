"""Blobs: immutable files by their SHA-256, streamed in and out without being held in memory."""

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import IO

import anyio.to_thread

from backend.objects import Objects
from reinforge.errors import InvalidInput, TooLarge
from reinforge.storage.base import disk_error, scratch_file


async def receive(
    objects: Objects, body: AsyncIterator[bytes], *, sha256: str, kind: str, folder: Path, limit: int
) -> bool:
    """Store a body whose content has the hash it is named by; False when it was there already.

    Raises InvalidInput (`blob_mismatch`), TooLarge, StorageError (`storage_full`).
    """
    with scratch_file(folder, "blob-") as file:
        size, found = await spool(body, file, limit)
        if found != sha256:
            raise InvalidInput(
                f"The body's SHA-256 is {found}, not {sha256}.",
                code="blob_mismatch",
                hint="It was damaged on the way or changed while it was sent; send it again.",
            )
        return await objects.keep_file(Path(file.name), sha256=sha256, bytes=size, kind=kind)


async def spool(body: AsyncIterator[bytes], file: IO[bytes], limit: int) -> tuple[int, str]:
    """Write a body to a file; returns its size and hash. Raises TooLarge, StorageError (`storage_full`)."""
    size, digest = 0, hashlib.sha256()
    try:
        async for chunk in body:
            size += len(chunk)
            if size > limit:
                raise TooLarge(f"The body is larger than {limit} bytes.", code="blob_too_large")
            digest.update(chunk)
            await anyio.to_thread.run_sync(file.write, chunk)
        await anyio.to_thread.run_sync(file.flush)
    except OSError as error:
        raise disk_error(error) from error
    return size, digest.hexdigest()
