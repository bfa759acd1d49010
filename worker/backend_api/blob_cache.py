"""On-disk cache of downloaded blobs, hard-linked to where they are needed."""

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from tenacity import Retrying, before_sleep_log, retry_if_exception_type, stop_after_attempt, wait_exponential

from reinforge.system.folder_cache import FolderCache
from worker.backend_api.client import BackendAway
from worker.backend_api.progress_callback import ProgressCallback, ignore_progress

log = logging.getLogger(__name__)

MAX_BYTES = 10 << 30
_ATTEMPTS = 8
_PLACINGS = 3
_LEFTOVER_SECONDS = 3600.0


class BlobCache:
    def __init__(
        self,
        folder: Path,
        fetch: Callable[[str, Path, str | None, ProgressCallback], None],
        *,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._folder = folder
        self._fetch = fetch
        self._cache = FolderCache(folder, max_bytes=max_bytes)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def place(
        self,
        sha256: str,
        target: Path,
        token: str | None = None,
        on_progress: ProgressCallback = ignore_progress,
    ) -> None:
        cached = self._folder / sha256
        target.unlink(missing_ok=True)
        for _ in range(_PLACINGS):
            if not cached.exists():
                self._download(sha256, cached, token, on_progress)
                self._cache.evict(keep={sha256})
            try:
                _link(cached, target)
                return
            except FileNotFoundError:  # another process has removed it, or `target` cannot exist
                continue
        _link(cached, target)

    def names(self) -> list[str]:
        return [entry.name for entry in os.scandir(self._folder) if not entry.name.startswith(".")]

    def forget(self, names: Iterable[str]) -> None:
        for name in names:
            (self._folder / name).unlink(missing_ok=True)

    def forget_leftovers(self) -> None:
        for entry in os.scandir(self._folder):
            with contextlib.suppress(FileNotFoundError):
                old = entry.stat().st_mtime < time.time() - _LEFTOVER_SECONDS
                if entry.name.startswith(".") and old:
                    Path(entry.path).unlink()

    def _download(self, sha256: str, cached: Path, token: str | None, on_progress: ProgressCallback) -> None:
        # Two processes or threads may fetch the same blob; each writes its own file and the last rename wins.
        fresh = cached.with_name(f".{sha256}.{os.getpid()}.{threading.get_ident()}")
        retrying = Retrying(
            retry=retry_if_exception_type(BackendAway),
            stop=stop_after_attempt(_ATTEMPTS),
            wait=wait_exponential(0.2, max=5.0),
            before_sleep=before_sleep_log(log, logging.INFO),
            before=lambda _: on_progress(),
            reraise=True,
        )
        try:
            retrying(self._fetch, sha256, fresh, token, on_progress)
            fresh.replace(cached)
        finally:
            fresh.unlink(missing_ok=True)


def _link(cached: Path, target: Path) -> None:
    os.utime(cached)
    try:
        target.hardlink_to(cached)
    except FileNotFoundError:
        raise
    except OSError:
        target.write_bytes(cached.read_bytes())
