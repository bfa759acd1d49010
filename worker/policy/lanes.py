"""Micro-batches side by side: threads that each compute with torch's own threads, for models too narrow to share one
product between cores."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Found = TypeVar("Found")


class Lanes:
    """`count` threads; one is the caller's own.

    A thread has torch's defaults: whether gradients are recorded is for the function itself to say. Results come in
    the order of the items, so what is summed up over them does not depend on which lane was faster.
    """

    def __init__(self, count: int = 1) -> None:
        self.count = count
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="lane") if count > 1 else None

    def map(self, function: Callable[[Item], Found], items: Iterable[Item]) -> Iterator[Found]:
        """All items are begun at once where there are lanes; one by one, as results are taken, where there are none.
        Raises what `function` raises, at the item's place."""
        if self._pool is None:
            return map(function, items)
        return self._pool.map(function, items)
