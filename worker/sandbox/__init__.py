"""The sandbox for reward code: a daemon with jails, and the client that speaks to it.

``python -m worker.sandbox --socket PATH`` runs the daemon; :class:`SandboxClient` scores with it. Untrusted code runs
nowhere else. Standard library only.
"""

from .client import SandboxClient
from .limits import Timeouts
from .outcome import CallOutcome, EntryPoint, RewardRow, RowResult, SandboxStatus, Validation

__all__ = [
    "CallOutcome",
    "EntryPoint",
    "RewardRow",
    "RowResult",
    "SandboxClient",
    "SandboxStatus",
    "Timeouts",
    "Validation",
]
