from reinforge.errors import InvalidInput
from worker.rewards.sandbox_access import sandbox_client


def jail_status(address: str | None) -> tuple[str | None, list[str]]:
    """Query the sandbox: (jail's name, []) or (None, reasons why code cannot run)."""
    if address is None:
        return None, ["Neither SANDBOX_SOCKET nor SANDBOX_URL is set: this worker has no sandbox."]
    try:
        with sandbox_client(address) as client:
            status = client.status()
    except InvalidInput as error:
        return None, [error.message]
    return (status.jail, []) if status.available else (None, status.reasons)
