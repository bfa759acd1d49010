"""The jails, strongest first."""

from collections.abc import Callable

from worker.sandbox.jails.prefix import Prefix

from .base import Jail, Running
from .landlock import LandlockJail
from .namespaces import NamespaceJail

JAILS: dict[str, Callable[[Prefix], Jail]] = {"N": NamespaceJail, "L": LandlockJail}
"""By letter, in the order in which they are tried."""

__all__ = ["JAILS", "Jail", "LandlockJail", "NamespaceJail", "Running"]
