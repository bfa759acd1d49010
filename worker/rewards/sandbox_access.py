"""Client of the sandbox that SANDBOX_URL or SANDBOX_SOCKET names, and a command that prints its status."""

import json
import os
import sys

from reinforge.errors import InvalidInput
from worker.machine import settings
from worker.sandbox.client import SandboxClient
from worker.sandbox.transport.address import Address
from worker.sandbox.transport.tls import KeyFile


def sandbox_client(address: str | os.PathLike[str], *, patience: float = 0.0) -> SandboxClient:
    """Client of a sandbox. Raises InvalidInput `sandbox_misconfigured` for an unusable address or key file."""
    try:
        remote = Address.parse(os.fspath(address)).path is None
        return SandboxClient(address, _key_file() if remote else None, patience=patience)
    except (ValueError, OSError) as error:
        raise InvalidInput(
            f"The sandbox {os.fspath(address)} cannot be used: {error}",
            code="sandbox_misconfigured",
            hint="SANDBOX_URL is its address; SANDBOX_KEY_FILE is a copy of the key file it was started with "
            "(--key-file). docs/install.md has an example.",
        ) from error


def _key_file() -> KeyFile:
    path = settings.sandbox_key_file()
    if path is None:
        raise ValueError(
            "SANDBOX_KEY_FILE is not set; it replaces SANDBOX_TOKEN and SANDBOX_TOKEN_FILE of version 0.2"
        )
    return KeyFile(path)


def main() -> int:
    address = settings.sandbox_address()
    try:
        with sandbox_client(address) as client:
            status = client.status()
    except InvalidInput as error:
        answer = {
            "address": address,
            "available": False,
            "jail": None,
            "reasons": [error.message],
            "refused": {},
        }
    else:
        answer = {"address": address, "available": status.available, "jail": status.jail}
        answer |= {"reasons": status.reasons, "refused": status.probe.get("refused", {})}
    sys.stdout.write(json.dumps(answer) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
