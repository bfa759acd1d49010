"""Callback by which long work reports progress."""

from collections.abc import Callable

ProgressCallback = Callable[[], None]
"""Called by the work whenever it has progressed."""


def ignore_progress() -> None: ...
