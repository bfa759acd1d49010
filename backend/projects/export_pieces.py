"""Files of a streamed tar archive: JSON, rows of a query, stored objects."""

import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

import anyio.to_thread
from sqlalchemy import Select

from backend.data.database import Database
from backend.data.objects import CHUNK, Objects
from backend.http.tar_stream import entry, header, padding
from backend.models import Base
from reinforge.storage import ObjectNotFound
from reinforge.storage.base import disk_error, scratch_file

ROWS_AT_ONCE = 500


class Pieces:
    def __init__(self, database: Database, objects: Objects, folder: Path) -> None:
        self.database, self._objects, self._folder = database, objects, folder
        self.missing: list[str] = []

    async def object(self, name: str, sha256: str, size: int) -> AsyncIterator[bytes]:
        try:
            async with self._objects.open(sha256) as file:
                yield header(name, size)
                remaining = size
                while remaining and (
                    chunk := await anyio.to_thread.run_sync(file.read, min(CHUNK, remaining))
                ):
                    remaining -= len(chunk)
                    yield chunk
                if remaining:
                    self.missing.append(f"{name}: the last {remaining} bytes")
                for start in range(0, remaining, CHUNK):
                    yield bytes(min(CHUNK, remaining - start))
                yield padding(size)
        except ObjectNotFound:
            self.missing.append(name)

    async def rows(self, name: str, query: Select[Any], at_once: int = ROWS_AT_ONCE) -> AsyncIterator[bytes]:
        with scratch_file(self._folder, "export-") as file:
            async with self.database.transaction() as session:
                result = await session.stream(query.execution_options(yield_per=at_once))
                async for part in result.mappings().partitions(at_once):
                    await anyio.to_thread.run_sync(partial(_write, file, part))
            size = file.tell()
            yield header(name, size)
            file.seek(0)
            while chunk := await anyio.to_thread.run_sync(file.read, CHUNK):
                yield chunk
            yield padding(size)


def small(name: str, value: Any) -> bytes:
    return entry(name, json.dumps(value, indent=2, ensure_ascii=False, default=str).encode() + b"\n")


def few(name: str, values: Iterable[Mapping[str, Any]]) -> bytes:
    return entry(name, b"".join(map(_line, values)))


def fields(row: Base, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}


def columns(table: type[Base], names: tuple[str, ...]) -> list[Any]:
    return [getattr(table, name) for name in names]


def _write(file: IO[bytes], part: Sequence[Mapping[str, Any]]) -> None:
    try:
        file.writelines(map(_line, part))
    except OSError as error:
        raise disk_error(error) from error


def _line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(dict(value), ensure_ascii=False, default=str).encode() + b"\n"
