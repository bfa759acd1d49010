"""Gives RPCs the sandbox, if its test has shown that a jail holds."""

from reinforge.errors import StateConflict, Unavailable
from worker.sandbox.client import SandboxClient

DISABLED_HINT = (
    "Give the machine a jail (bubblewrap with user namespaces, or Landlock in Linux 6.2 or later), or set SANDBOX_URL "
    "to a sandbox on a Linux machine that has one. `reinforge doctor` says more. Until then jobs pause "
    "with `sandbox_unavailable`."
)
_HINT = "Start it with `python -m worker.sandbox` (`reinforge up` does); `reinforge doctor` says why it may not run."


def proved(sandbox: SandboxClient | None, what: str = "Reward code") -> tuple[SandboxClient, str | None]:
    if sandbox is None:
        raise unavailable("neither SANDBOX_SOCKET nor SANDBOX_URL is set for this worker.", what)
    status = sandbox.status()
    if not status.available and status.probe:  # the daemon runs and has tried every jail of this machine
        raise StateConflict(
            f"{what} is disabled, because no jail works here: {'; '.join(status.reasons)}",
            code="code_rewards_disabled",
            hint=DISABLED_HINT,
        )
    if not status.available:
        raise unavailable("; ".join(status.reasons), what)
    return sandbox, status.jail


def unavailable(why: str | None, what: str = "Reward code") -> Unavailable:
    return Unavailable(
        f"{what} cannot run: {why or 'no jail works on this machine'}",
        code="sandbox_unavailable",
        hint=_HINT,
    )
