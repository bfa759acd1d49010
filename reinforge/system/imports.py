"""Imports of large libraries in less time."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Import in this block: what is imported stays, so the garbage collector need not walk it, now or later.

    Collections are a sixth of the time in which torch or FastAPI is imported.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()
