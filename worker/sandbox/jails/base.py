"""A jail: how a zygote is started so that nothing can leave it.

Everything else about the sandbox (pool, calls, reply, probe) is the same for every jail, and a reward finds the same
in each: no file to write, no thread, no process. So a score does not depend on which jail a host can have.
"""

import contextlib
import os
import socket
import subprocess
from typing import Any, Protocol

from worker.sandbox import libraries
from worker.sandbox.jails import bpf
from worker.sandbox.jails.prefix import Prefix
from worker.sandbox.limits import PRELOAD, RLIMITS

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

    def launch(self, channel: socket.socket) -> "Running":
        """Start a zygote on its end of a socket pair. Call from the main thread: the kernel kills it when the
        calling *thread* ends. Raises OSError and subprocess.SubprocessError."""
        ...

    def configuration(self) -> dict[str, Any]:
        """What the first frame tells the zygote: filters, readable paths, limits, modules to import."""
        ...


class Running:
    """A launched zygote's process. Its standard error is a pipe."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    @property
    def pid(self) -> int:
        """The zygote's, as this process sees it."""
        return self._process.pid

    def settled(self) -> None:
        """The zygote has answered for the first time. Raises OSError when it cannot be held on to."""

    def ended(self) -> bool:
        return self._process.poll() is not None

    def kill(self) -> None:
        """Send SIGKILL; what the zygote forked dies with it."""
        self._process.kill()

    def wait(self) -> None:
        """Block until nothing is left of the killed jail."""
        self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()

    def last_words(self) -> str:
        """The last line on standard error, which tells why a zygote did not start. Kill it first; blocks until
        it has ended."""
        self._process.wait()
        if self._process.stderr is None:
            return ""
        os.set_blocking(self._process.stderr.fileno(), False)
        with contextlib.suppress(OSError):
            lines = (self._process.stderr.read() or b"").decode("utf-8", "replace").strip().splitlines()
            return lines[-1][:300] if lines else ""
        return ""


def start(command: list[str], environment: dict[str, str], *passed: int) -> "subprocess.Popen[bytes]":
    """Start a jail's first process: its own user where we are root, nothing of ours but the descriptors passed."""
    user = SANDBOX_UID if os.geteuid() == 0 else None
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd="/",
        env=environment,
        pass_fds=passed,
        start_new_session=True,
        user=user,
        group=user,
        extra_groups=None if user is None else [],
    )


def zygote_command(python: str, program: str, channel: int) -> list[str]:
    """How the zygote is started, once its jail's walls that come before it stand."""
    return [python, "-s", "-P", "-S", "-B", "-c", _START.format(program=program, channel=channel)]


def common_configuration(prefix: Prefix, program: str, site: str) -> dict[str, Any]:
    """What every jail tells its zygote; ``program`` and ``site`` as they are called inside."""
    return {
        **libraries.configuration(prefix.site),
        "program": program,
        "site": site,
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
