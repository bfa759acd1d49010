"""Callback without arguments by which long work reports that it advances."""

from collections.abc import Callable

ProgressCallback = Callable[[], None]


def ignore_progress() -> None: ...
