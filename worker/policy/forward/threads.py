"""Threads for parallel micro-batches of models too narrow to split one product between cores."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class MicroBatchThreads:
    """Threads that return results in the items' order, so that sums over them do not depend on timing."""

    def __init__(self, count: int = 1) -> None:
        self.count = count
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="micro-batch") if count > 1 else None

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield results in the items' order. An exception is raised in place of its item's result, after all have
        ended.
        """
        if self._pool is None:
            return map(function, items)
        return _results(deque(self._pool.submit(function, item) for item in items))


def _results(futures: deque[Future[Result]]) -> Iterator[Result]:
    try:
        while futures:
            # Removed first, so that a result is released as soon as its reader drops it.
            yield futures.popleft().result()
    finally:
        for future in futures:
            future.cancel()
        wait(futures)
