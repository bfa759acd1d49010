"""Cache in a folder that processes share. It evicts the least recently used entries."""

import os
import shutil
from collections.abc import Callable, Container
from pathlib import Path


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


class FolderCache:
    def __init__(
        self,
        folder: Path,
        *,
        max_entries: int | None = None,
        max_bytes: int | None = None,
        remove: Callable[[Path], None] = remove,
    ) -> None:
        self.folder = folder
        self._max_entries, self._max_bytes, self._remove = max_entries, max_bytes, remove

    def use(self, name: str) -> Path | None:
        path = self.folder / name
        try:
            os.utime(path)  # `touch` would create a removed entry again, as an empty file
        except FileNotFoundError:
            return None
        return path

    def evict(self, keep: Container[str] = ()) -> None:
        entries = []
        for path in self.folder.iterdir():
            if path.name.startswith("."):
                continue
            try:
                status = path.stat()
            except FileNotFoundError:  # another process has removed it
                continue
            entries.append((status.st_mtime_ns, 0 if path.is_dir() else status.st_size, path))
        entries.sort(key=lambda entry: entry[0])
        count, total = len(entries), sum(size for _, size, _ in entries)
        for _, size, path in entries:
            if not self._exceeded(count, total):
                return
            if path.name not in keep:
                self._remove(path)
                count, total = count - 1, total - size

    def _exceeded(self, count: int, total: int) -> bool:
        return (self._max_entries is not None and count > self._max_entries) or (
            self._max_bytes is not None and total > self._max_bytes
        )
