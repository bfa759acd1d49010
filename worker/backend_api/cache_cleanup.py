"""Thread that removes cached objects and job folders that the backend no longer uses."""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from reinforge.errors import ReinforgeError
from reinforge.schemas.worker_api import CACHED_AT_ONCE, Cached
from worker.backend_api.blob_cache import BlobCache
from worker.backend_api.client import WorkerApi
from worker.supervisor import run_folder

log = logging.getLogger(__name__)

EVERY_SECONDS = 300.0


@dataclass(frozen=True)
class Cache:
    names: Callable[[], Sequence[str]]
    forget: Callable[[Iterable[str]], None]


class Tidying(threading.Thread):
    def __init__(
        self, api: WorkerApi, blobs: BlobCache, *, runs: Path | None = None, others: Sequence[Cache] = ()
    ) -> None:
        super().__init__(name="tidying", daemon=True)
        self._api, self._blobs, self._runs = api, blobs, runs
        self._caches = [Cache(blobs.names, blobs.forget), *others]
        self._stopping = threading.Event()

    def stop(self) -> None:
        self._stopping.set()

    def run(self) -> None:
        while not self._stopping.is_set():
            try:
                self.tidy()
            except (ReinforgeError, OSError) as error:
                log.info("could not clean up the caches: %s", error)
            self._stopping.wait(EVERY_SECONDS)

    def tidy(self) -> None:
        self._blobs.forget_leftovers()
        if self._runs is not None:
            run_folder.forget_data(self._runs)
            for part in _parts(run_folder.job_folders(self._runs)):
                unused = set(part) & set(self._api.unused(Cached(jobs=part)).jobs)
                run_folder.forget_jobs(self._runs, unused)
        for cache in self._caches:
            for part in _parts(cache.names()):
                if unused := set(part) & set(self._api.unused(Cached(objects=part)).objects):
                    log.info("removed %d cached objects that the backend no longer uses", len(unused))
                    cache.forget(unused)


def _parts(names: Sequence[str]) -> Iterator[list[str]]:
    for begin in range(0, len(names), CACHED_AT_ONCE):
        yield list(names[begin : begin + CACHED_AT_ONCE])
