"""Jail **L**: Landlock, two seccomp filters and resource limits, which the zygote applies to itself.

Not covered: names and sizes of host files (``stat``), bugs of the shared kernel.
"""

import os
import socket
from dataclasses import dataclass
from typing import Any

from worker.sandbox.jailed import kernel
from worker.sandbox.jails import bpf
from worker.sandbox.jails.base import Running, common_configuration, jail_environment, start, zygote_command
from worker.sandbox.jails.prefix import Prefix


@dataclass(frozen=True, slots=True)
class LandlockJail:
    prefix: Prefix
    name: str = "L"

    def missing(self) -> str | None:
        unsupported = bpf.unsupported()
        if unsupported:
            return unsupported
        abi = kernel.landlock_abi()
        if abi < kernel.LANDLOCK_MINIMUM:
            reason = f"has version {abi}" if abi else "has none, or it is switched off"
            return f"Landlock version {kernel.LANDLOCK_MINIMUM} or later is needed (Linux 6.2); this kernel {reason}"
        return None

    def launch(self, channel: socket.socket) -> Running:
        program = str(self.prefix.program)
        command = zygote_command(str(self.prefix.python), program, channel.fileno())
        return Running(start(command, jail_environment(self.prefix), channel.fileno()))

    def configuration(self) -> dict[str, Any]:
        return {
            **common_configuration(self.prefix, str(self.prefix.program), str(self.prefix.site)),
            "parent": os.getpid(),
            "readable": list(self.prefix.readable),
        }
