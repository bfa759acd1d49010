"""Imports of large libraries in less time."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Import in this block: what is imported stays, so the garbage collector need not walk it, now or later.

    It takes a sixth of the time to import torch or FastAPI otherwise.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()
