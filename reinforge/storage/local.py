"""Object store in a folder. Writes and syncs files under temporary names, then links them to keys."""

import errno
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import IO, BinaryIO

from reinforge.storage.base import (
    CHUNK,
    ObjectInfo,
    check_key,
    check_prefix,
    conflict,
    disk_error,
    not_found,
    replacing,
    same_content,
)

STALE_SECONDS = 24 * 3600
_ABSENT = (FileNotFoundError, NotADirectoryError, IsADirectoryError)


class LocalStore:
    """Store in a folder. Its temporary files are in `.tmp`, which no key begins with."""

    parts = None

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self._temporary = self.root / ".tmp"
        try:
            self._temporary.mkdir(parents=True, exist_ok=True)
            self._remove_stale()
        except OSError as error:
            raise disk_error(error) from error

    def put(self, key: str, data: bytes | BinaryIO) -> None:
        if isinstance(data, bytes):
            self._put(key, lambda: BytesIO(data))
            return
        # A stream can be read only once, so it is written to a temporary file before comparing.
        self._write(key, lambda file: shutil.copyfileobj(data, file, CHUNK))

    def put_file(self, key: str, path: Path) -> None:
        self._put(key, lambda: path.open("rb"))

    def get(self, key: str) -> bytes:
        with self.open(key) as stream:
            return stream.read()

    def get_file(self, key: str, path: Path) -> None:
        with self.open(key) as stream, replacing(path) as file:
            shutil.copyfileobj(stream, file, CHUNK)

    def open(self, key: str) -> BinaryIO:
        try:
            return self._path(key).open("rb")
        except _ABSENT:
            raise not_found(key) from None
        except OSError as error:
            raise disk_error(error) from error

    def size(self, key: str) -> int:
        path = self._path(key)
        if not path.is_file():
            raise not_found(key)
        return path.stat().st_size

    def exists(self, key: str) -> bool:
        return self._path(key).is_file()

    def delete(self, key: str) -> None:
        # Empty folders stay: removing them would race with a writer that has just created them.
        try:
            self._path(key).unlink(missing_ok=True)
        except _ABSENT:
            return
        except OSError as error:
            raise disk_error(error) from error

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        folder = check_prefix(prefix).rpartition("/")[0]
        return self._walk(self.root / folder, f"{folder}/" if folder else "", prefix)

    def presigned_put(self, key: str, *, expires_seconds: int = 3600) -> str | None:
        check_key(key)
        return None

    def presigned_get(
        self, key: str, *, expires_seconds: int = 3600, filename: str | None = None
    ) -> str | None:
        check_key(key)
        return None

    def _path(self, key: str) -> Path:
        return self.root / check_key(key)

    def _put(self, key: str, source: Callable[[], IO[bytes]]) -> None:
        with source() as stream:
            if self.exists(key):
                self._require_same(key, stream)
            else:
                self._write(key, lambda file: shutil.copyfileobj(stream, file, CHUNK))

    def _write(self, key: str, fill: Callable[[BinaryIO], None]) -> None:
        target = self._path(key)
        temporary = self._temporary / secrets.token_hex(16)
        try:
            with temporary.open("xb") as file:
                fill(file)
                file.flush()
                os.fsync(file.fileno())
            self._make_folder(key, target.parent)
            if not _link(temporary, target):
                with temporary.open("rb") as stream:
                    self._require_same(key, stream)
            _sync(target.parent)
        except OSError as error:
            raise disk_error(error) from error
        finally:
            temporary.unlink(missing_ok=True)

    def _require_same(self, key: str, stream: IO[bytes]) -> None:
        path = self._path(key)
        if not path.is_file():
            raise conflict(key)
        with path.open("rb") as stored:
            if not same_content(stored, stream):
                raise conflict(key)

    def _make_folder(self, key: str, folder: Path) -> None:
        if folder.is_dir():
            return
        self._make_folder(key, folder.parent)
        try:
            folder.mkdir(exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise conflict(key) from None
        _sync(folder.parent)

    def _walk(self, folder: Path, base: str, prefix: str) -> Iterator[ObjectInfo]:
        """Objects under `folder`, ordered by the whole key as in S3."""
        try:
            with os.scandir(folder) as entries:
                children = [(entry.name + "/" * entry.is_dir(), entry) for entry in entries]
        except _ABSENT:
            return
        for name, entry in sorted(children, key=lambda item: item[0]):
            key = base + name
            if name.startswith(".") or not (key.startswith(prefix) or prefix.startswith(key)):
                continue
            if name.endswith("/"):
                yield from self._walk(folder / entry.name, key, prefix)
            elif key.startswith(prefix):
                try:
                    status = entry.stat()
                except FileNotFoundError:
                    continue
                yield ObjectInfo(key, status.st_size, status.st_mtime)

    def _remove_stale(self) -> None:
        for path in self._temporary.iterdir():
            try:
                if path.stat().st_mtime < time.time() - STALE_SECONDS:
                    path.unlink()
            except FileNotFoundError:
                continue


def _link(temporary: Path, target: Path) -> bool:
    """Link the file to `target`; False if `target` exists. A rename would replace it."""
    try:
        target.hardlink_to(temporary)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS):
            raise
        # A file system without hard links: two writers of one key may both get here, with equal content.
        if target.exists():
            return False
        temporary.replace(target)
    return True


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
