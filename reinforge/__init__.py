"""Shared core, SDK and command line, without a web framework, queue or torch.

`backend` and `worker` both import it, and never each other.
"""

from typing import TYPE_CHECKING

__version__ = "0.2.0"

if TYPE_CHECKING:
    from reinforge.client import AsyncReinforge as AsyncReinforge
    from reinforge.client import Reinforge as Reinforge


def __getattr__(name: str) -> object:
    """Imports the SDK's clients on first use: workers import this package without them."""
    if name not in ("Reinforge", "AsyncReinforge"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from reinforge import client

    value: object = getattr(client, name)
    return value
