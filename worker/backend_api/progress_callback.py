"""Callback by which long work reports progress."""

from collections.abc import Callable

ProgressCallback = Callable[[], None]


def ignore_progress() -> None: ...
