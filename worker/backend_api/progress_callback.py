"""Callback, without arguments, that long work calls as it advances."""

from collections.abc import Callable

ProgressCallback = Callable[[], None]


def ignore_progress() -> None: ...
