"""Streaming of a request's body to a file, hashed and bounded."""

import hashlib
from collections.abc import AsyncIterator
from typing import IO

import anyio.to_thread

from reinforge.errors import TooLarge
from reinforge.storage.base import disk_error

_CHUNKS_AT_ONCE = 32


async def spool(body: AsyncIterator[bytes], file: IO[bytes], limit: int) -> tuple[int, str]:
    size, digest = 0, hashlib.sha256()
    waiting: list[bytes] = []

    def write() -> None:
        for chunk in waiting:
            digest.update(chunk)
            file.write(chunk)
        file.flush()
        waiting.clear()

    try:
        async for chunk in body:
            size += len(chunk)
            if size > limit:
                raise TooLarge(f"The body is larger than {limit} bytes.", code="blob_too_large")
            waiting.append(chunk)
            if len(waiting) >= _CHUNKS_AT_ONCE:
                await anyio.to_thread.run_sync(write)
        await anyio.to_thread.run_sync(write)
    except OSError as error:
        raise disk_error(error) from error
    return size, digest.hexdigest()
