"""Threads for parallel micro-batches, for models too narrow to split one matrix product between cores."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Lanes:
    """`count` threads; one is the caller's own.

    A thread has torch's defaults: whether gradients are recorded is for the function itself to say. Results come in
    the order of the items, so what is summed up over them does not depend on which lane was faster.
    """

    def __init__(self, count: int = 1) -> None:
        self.count = count
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="lane") if count > 1 else None

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """All items are begun at once where there are lanes; one by one, as results are taken, where there are none.
        Raises what `function` raises, at the item's place; nothing runs any more then."""
        if self._pool is None:
            return map(function, items)
        return _results(deque(self._pool.submit(function, item) for item in items))


def _results(futures: deque[Future[Result]]) -> Iterator[Result]:
    try:
        while futures:
            # Out of the list first: a result is held for as long as it is needed.
            yield futures.popleft().result()
    finally:
        for future in futures:
            future.cancel()
        wait(futures)
