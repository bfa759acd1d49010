"""The callback by which long work reports that it progresses."""

from collections.abc import Callable

ProgressCallback = Callable[[], None]
"""Called by the work whenever it has progressed."""


def ignore_progress() -> None:
    """The default of callers that need no progress."""
