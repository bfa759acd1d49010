"""Base class of the jails; starts their zygotes."""

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

_START = "import sys; sys.path.insert(0, {program!r}); from jailed.zygote import main; main({channel})"


class Jail(Protocol):
    @property
    def name(self) -> str: ...

    def missing(self) -> str | None: ...

    def launch(self, channel: socket.socket) -> "Running":
        """Start a zygote on its end of a socket pair. Raises OSError and SubprocessError.

        Call from the main thread: the kernel kills the zygote when its parent thread ends.
        """
        ...

    def configuration(self) -> dict[str, Any]: ...


class Running:
    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    def settled(self) -> None:
        """Start tracking the zygote's process, after its first answer. Raises OSError if that fails."""

    def ended(self) -> bool:
        return self._process.poll() is not None

    def kill(self) -> None:
        self._process.kill()

    def wait(self) -> None:
        self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()

    def last_words(self) -> str:
        self._process.wait()
        if self._process.stderr is None:
            return ""
        os.set_blocking(self._process.stderr.fileno(), False)
        with contextlib.suppress(OSError):
            lines = (self._process.stderr.read() or b"").decode("utf-8", "replace").strip().splitlines()
            return lines[-1][:300] if lines else ""
        return ""


def start(command: list[str], environment: dict[str, str], *passed: int) -> "subprocess.Popen[bytes]":
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
    return [python, "-s", "-P", "-S", "-B", "-c", _START.format(program=program, channel=channel)]


def common_configuration(prefix: Prefix, program: str, site: str) -> dict[str, Any]:
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
    """The jail's environment. A fixed hash seed makes iteration over sets repeatable."""
    return {
        "LD_LIBRARY_PATH": str(prefix.libraries),
        "PYTHONHASHSEED": "0",
        "MALLOC_ARENA_MAX": "2",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
