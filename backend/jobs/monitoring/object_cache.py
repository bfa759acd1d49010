"""Disk cache of objects by SHA-256; the least recently used are evicted."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request

from backend.data.objects import Objects
from backend.settings import Settings
from reinforge.system.folder_cache import FolderCache

LIMIT_BYTES = 512 * 1024 * 1024


class ObjectCache:
    def __init__(self, objects: Objects, folder: Path, limit: int = LIMIT_BYTES) -> None:
        self._objects = objects
        self._files = FolderCache(folder, max_bytes=limit)
        self._lock = asyncio.Lock()
        self._in_use: dict[str, int] = {}

    @asynccontextmanager
    async def file(self, sha256: str) -> AsyncIterator[Path]:
        async with self._lock:
            self._in_use[sha256] = self._in_use.get(sha256, 0) + 1
        try:
            async with self._lock:
                path = self._files.use(sha256)
                if path is None:
                    self._files.folder.mkdir(parents=True, exist_ok=True)
                    path = self._files.folder / sha256
                    await self._objects.fetch(sha256, path)
                    self._files.evict(keep=self._in_use)
            yield path
        finally:
            self._in_use[sha256] -= 1
            if not self._in_use[sha256]:
                del self._in_use[sha256]


async def get_object_cache(request: Request) -> ObjectCache:
    state = request.app.state
    if not hasattr(state, "object_cache"):
        settings: Settings = state.settings
        state.object_cache = ObjectCache(state.objects, settings.home_folder / "cache" / str(os.getpid()))
    cache: ObjectCache = state.object_cache
    return cache


ObjectCacheDep = Annotated[ObjectCache, Depends(get_object_cache)]
