"""Jails that do not hold: they live in tests only, to show that the probe and the corpus notice."""

import functools
import os
import socket
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from worker.sandbox.jails import Jail, LandlockJail, NamespaceJail, Running
from worker.sandbox.jails.prefix import ensure_prefix

ALLOW_EVERYTHING = bytes.fromhex("060000000000ff7f").hex()
"""One instruction: return ALLOW."""

_PLAIN = """
import sys; sys.path.insert(0, {program!r})
from jailed import kernel, zygote
kernel.restrict_paths = kernel.install_filter = lambda _: None
kernel.forbid_inspection = lambda: None
zygote.main({channel})
"""


@dataclass(frozen=True)
class WeakJail:
    """A jail with something changed in what the zygote is told."""

    weaken: Callable[[dict[str, Any]], None]
    whole: Jail = field(default_factory=lambda: LandlockJail(ensure_prefix()))
    name: str = "weak"

    def missing(self) -> str | None:
        return self.whole.missing()

    def launch(self, channel: socket.socket) -> Running:
        return self.whole.launch(channel)

    def configuration(self) -> dict[str, Any]:
        configuration = self.whole.configuration()
        self.weaken(configuration)
        return configuration


@dataclass(frozen=True, slots=True)
class WeakNamespaces(NamespaceJail):
    """Jail N with more arguments for bubblewrap."""

    hole: tuple[str, ...] = ()

    def walls(self) -> list[str]:
        walls = NamespaceJail.walls(self)
        at = walls.index("--remount-ro")
        return [*walls[:at], *self.hole, *walls[at:]]


@dataclass(frozen=True)
class FakeHost:
    """No jail at all, in a host that is thrown away: the zygote with its restrictions patched away, the environment
    and the network of the tests, limits of memory and time.

    bubblewrap keeps the harm off the machine: nothing can be written but ``folder`` and small folders in memory, and
    there are no other processes to hit. It takes nothing away that an attack on a host would look for.
    """

    folder: Path
    whole: LandlockJail = field(default_factory=lambda: LandlockJail(ensure_prefix()))
    name: str = "plain"

    def missing(self) -> str | None:
        return None

    def walls(self) -> list[str]:
        """bubblewrap's arguments."""
        prefix = self.whole.prefix
        walls = ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--new-session"]
        walls += ["--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc"]
        for place in ("/tmp", "/var/tmp", "/dev/shm"):
            walls += ["--size", str(16 << 20), "--tmpfs", place]
        for path in (prefix.python.parents[1], prefix.program, prefix.site):  # they may lie in one of these
            walls += ["--ro-bind", str(path), str(path)]
        return [*walls, "--bind", str(self.folder), str(self.folder)]

    def launch(self, channel: socket.socket) -> Running:
        prefix = self.whole.prefix
        program = _PLAIN.format(program=str(prefix.program), channel=channel.fileno())
        user = control_user()
        process = subprocess.Popen(
            ["bwrap", *self.walls(), "--", str(prefix.python), "-s", "-S", "-B", "-c", program],
            stderr=subprocess.PIPE,
            cwd="/",
            env={**os.environ, "LD_LIBRARY_PATH": str(prefix.libraries)},
            pass_fds=[channel.fileno()],
            user=user,
            group=user,
            extra_groups=[] if user else None,
        )
        return Running(process)

    def configuration(self) -> dict[str, Any]:
        configuration = self.whole.configuration() | {"parent": 1}  # of its own numbers: bubblewrap's
        configuration["rlimits"] = {**configuration["rlimits"], "NPROC": 64, "FSIZE": 1 << 20}
        return configuration


def control_user() -> int | None:
    """A user that no other test has, where one can be had: what it may start is counted by user."""
    return 70_000 + os.getpid() % 20_000 if os.geteuid() == 0 else None


@functools.cache
def no_fake_host() -> str | None:
    """Why this machine cannot have a :class:`FakeHost`."""
    user = control_user()
    command = ["bwrap", *FakeHost(Path("/var/tmp")).walls(), "--", "/bin/true"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, user=user, group=user, extra_groups=[] if user else None
        )
    except OSError as error:
        return f"bubblewrap: {error}"
    return None if done.returncode == 0 else f"bubblewrap is refused: {done.stderr.strip()}"


def without_filters(configuration: dict[str, Any]) -> None:
    configuration["zygote_filter"] = configuration["child_filter"] = ALLOW_EVERYTHING


def without_landlock(configuration: dict[str, Any]) -> None:
    configuration["readable"] = None
