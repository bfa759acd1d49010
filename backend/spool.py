"""A request's body as a file: streamed, hashed and bounded on its way."""

import hashlib
from collections.abc import AsyncIterator
from typing import IO

import anyio.to_thread

from reinforge.errors import TooLarge
from reinforge.storage.base import disk_error


async def spool(body: AsyncIterator[bytes], file: IO[bytes], limit: int) -> tuple[int, str]:
    """Write a body to a file; returns its size and SHA-256. Raises TooLarge, StorageError (`storage_full`)."""
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
