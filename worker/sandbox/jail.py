"""A jail: how the zygote is started so that nothing can leave it.

Everything else about the sandbox (pool, calls, reply, probe) is the same for every jail. Jail **L** needs no
privilege and no package: Landlock, two seccomp filters and resource limits, which the zygote puts on itself before
it answers. What it covers: reading (only the interpreter, its library, allowed packages), writing (nothing),
sockets of every family, processes and threads, programs, signals and ptrace, namespaces, the environment,
descriptors, memory, CPU. What it does not: metadata of files (``stat``) can be seen, and the kernel is shared.
"""

import os
import socket
import subprocess
from dataclasses import dataclass
from typing import Any, Protocol

from . import bpf
from .jailed import kernel
from .limits import PRELOAD, RLIMITS
from .prefix import Prefix

SANDBOX_UID = 64101
"""The jail's user and group where the daemon runs as root; needs no entry in the account files."""

_START = "import sys; sys.path.insert(0, {program!r}); from jailed.zygote import main; main({channel})"


class Jail(Protocol):
    """Starts a zygote. Implementations hold no state about running ones."""

    @property
    def name(self) -> str:
        """The letter a run records."""
        ...

    def missing(self) -> str | None:
        """Why this jail cannot work on this machine, or None when it is worth probing."""
        ...

    def launch(self, channel: socket.socket) -> "subprocess.Popen[bytes]":
        """Start a zygote on its end of a socket pair; its standard error is a pipe. Call from the main thread:
        the kernel kills it when the calling *thread* ends."""
        ...

    def configuration(self) -> dict[str, Any]:
        """What the first frame tells the zygote: filters, readable paths, limits, modules to import."""
        ...


@dataclass(frozen=True, slots=True)
class LandlockJail:
    """Jail L on a prefix."""

    prefix: Prefix
    name: str = "L"

    def missing(self) -> str | None:
        unsupported = bpf.unsupported()
        if unsupported:
            return unsupported
        abi = kernel.landlock_abi()
        if abi < kernel.LANDLOCK_MINIMUM:
            found = f"has version {abi}" if abi else "has none, or it is switched off"
            return f"Landlock version {kernel.LANDLOCK_MINIMUM} or later is needed (Linux 6.2); this kernel {found}"
        return None

    def launch(self, channel: socket.socket) -> "subprocess.Popen[bytes]":
        program = _START.format(program=str(self.prefix.program), channel=channel.fileno())
        root = os.geteuid() == 0
        return subprocess.Popen(
            [str(self.prefix.python), "-s", "-P", "-S", "-B", "-c", program],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd="/",
            env=jail_environment(self.prefix),
            pass_fds=[channel.fileno()],
            start_new_session=True,
            user=SANDBOX_UID if root else None,
            group=SANDBOX_UID if root else None,
            extra_groups=[] if root else None,
        )

    def configuration(self) -> dict[str, Any]:
        return {
            "parent": os.getpid(),
            "program": str(self.prefix.program),
            "site": str(self.prefix.site),
            "readable": list(self.prefix.readable),
            "zygote_filter": bpf.zygote_filter().hex(),
            "child_filter": bpf.child_filter().hex(),
            "pid_hole": bpf.PID_HOLE,
            "rlimits": RLIMITS,
            "preload": list(PRELOAD),
        }


def jail_environment(prefix: Prefix) -> dict[str, str]:
    """All a jail sees of an environment, and only until it has started: nothing of the daemon's own.

    A fixed hash seed makes rewards that iterate over sets give the same result in every jail.
    """
    return {
        "LD_LIBRARY_PATH": str(prefix.libraries),
        "PYTHONHASHSEED": "0",
        "MALLOC_ARENA_MAX": "2",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
