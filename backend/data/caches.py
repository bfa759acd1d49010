"""Removal of cached copies of stored objects that nothing needs any more."""

import asyncio
import logging
import re
import time
from collections.abc import Collection, Iterable
from pathlib import Path

import anyio.to_thread
from sqlalchemy import or_, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession

from backend.data.database import Database
from backend.models import Adapter, Checkpoint, Dataset, Deployment, Job, ResumeState, StepRollouts
from reinforge.states import FINAL

log = logging.getLogger(__name__)

EVERY_SECONDS = 300.0
QUIET_SECONDS = 300.0
LEFTOVER_SECONDS = 86_400.0
_WORKERS = "blobs"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_PRODUCTS = (Checkpoint, ResumeState, Adapter, Deployment, StepRollouts)
_AT_ONCE = 1000


async def unused_objects(session: AsyncSession, hashes: Collection[str]) -> set[str]:
    unfinished = select(Job.id).where(
        or_(Job.dataset_id == Dataset.id, Job.held_out_dataset_id == Dataset.id), Job.status.not_in(FINAL)
    )
    needed = set(
        await session.scalars(
            select(Dataset.sha256).where(
                Dataset.sha256.in_(hashes), or_(Dataset.deleted_at.is_(None), unfinished.exists())
            )
        )
    )
    needed |= set(await session.scalars(select(Job.start_sha256).where(Job.start_sha256.in_(hashes))))
    for table in _PRODUCTS:
        needed |= set(await session.scalars(select(table.sha256).where(table.sha256.in_(hashes))))
    return set(hashes) - needed


async def unused_jobs(session: AsyncSession, ids: Collection[str]) -> set[str]:
    return set(ids) - set(await session.scalars(select(Job.id).where(Job.id.in_(ids))))


class CacheTidying:
    def __init__(self, database: Database, home: Path, quiet_seconds: float = QUIET_SECONDS) -> None:
        self._database, self._home, self._quiet = database, home, quiet_seconds

    async def run(self) -> None:
        while True:
            try:
                if removed := await self.tidy():
                    log.info("removed %d cached files that nothing needs", removed)
            except (SQLAlchemyError, OSError) as error:
                log.warning("could not clean up the caches: %s", error)
            await asyncio.sleep(EVERY_SECONDS)

    async def tidy(self) -> int:
        removed = 0
        quiet_files = await anyio.to_thread.run_sync(self._quiet_files)
        for begin in range(0, len(quiet_files), _AT_ONCE):
            files = {path: set(_SHA256.findall(path.name)) for path in quiet_files[begin : begin + _AT_ONCE]}
            async with self._database.transaction() as session:
                unused = await unused_objects(session, set().union(*files.values()))
            going = [path for path, hashes in files.items() if hashes & unused]
            removed += await anyio.to_thread.run_sync(_remove, going, self._quiet)
        return removed + await anyio.to_thread.run_sync(self._remove_leftovers)

    def _folders(self) -> list[Path]:
        cache = self._home / "cache"
        if not cache.is_dir():
            return []
        return [folder for folder in cache.iterdir() if folder.is_dir() and folder.name != _WORKERS]

    def _quiet_files(self) -> list[Path]:
        object_files = (
            path for folder in self._folders() for path in folder.iterdir() if _SHA256.search(path.name)
        )
        return [path for path in object_files if _is_quiet(path, self._quiet)]

    def _remove_leftovers(self) -> int:
        leftovers = [path for folder in self._folders() for path in folder.glob(".*")]
        for folder in (self._home / "uploads", self._home / "exports"):
            leftovers += folder.iterdir() if folder.is_dir() else ()
        return _remove(leftovers, LEFTOVER_SECONDS)


def _remove(files: Iterable[Path], quiet: float) -> int:
    going = [path for path in files if _is_quiet(path, quiet)]
    for path in going:
        path.unlink(missing_ok=True)
    return len(going)


def _is_quiet(path: Path, seconds: float) -> bool:
    try:
        return path.is_file() and path.stat().st_mtime < time.time() - seconds
    except FileNotFoundError:
        return False
