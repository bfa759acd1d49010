"""Signs of life of long work, for whoever waits for it."""

from collections.abc import Callable

Beat = Callable[[], None]
"""Called by the work whenever it has moved on a little."""


def unheard() -> None:
    """Nobody waits impatiently."""
