"""The jails, strongest first."""

from collections.abc import Callable

from worker.sandbox.jails.base import Jail, Running
from worker.sandbox.jails.landlock import LandlockJail
from worker.sandbox.jails.namespaces import NamespaceJail
from worker.sandbox.jails.prefix import Prefix

JAILS: dict[str, Callable[[Prefix], Jail]] = {"N": NamespaceJail, "L": LandlockJail}

__all__ = ["JAILS", "Jail", "LandlockJail", "NamespaceJail", "Running"]
