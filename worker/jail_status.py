"""Which jail the sandbox has proved, as workers report it."""

from pathlib import Path

from worker.sandbox.client import SandboxClient


def jail_status(socket: Path | None) -> tuple[str | None, list[str]]:
    """(name of the jail, []) or (None, reasons why code rewards cannot run here)."""
    if socket is None:
        return None, ["SANDBOX_SOCKET is not set: no sandbox was started beside this worker."]
    with SandboxClient(socket) as client:
        status = client.status()
    return (status.jail, []) if status.available else (None, status.reasons)
