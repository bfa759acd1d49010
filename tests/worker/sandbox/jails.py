"""Jails that do not hold: they live in tests only, to show that the probe and the corpus notice."""

import os
import socket
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from worker.sandbox.jails import Jail, LandlockJail, NamespaceJail, Running
from worker.sandbox.jails.base import SANDBOX_UID
from worker.sandbox.prefix import ensure_prefix

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
class PlainProcess:
    """No jail at all: the zygote with its restrictions patched away, the host's environment, the same limits of
    memory and time. The user is dropped as in jail L."""

    whole: LandlockJail = field(default_factory=lambda: LandlockJail(ensure_prefix()))
    name: str = "plain"

    def missing(self) -> str | None:
        return None

    def launch(self, channel: socket.socket) -> Running:
        program = _PLAIN.format(program=str(self.whole.prefix.program), channel=channel.fileno())
        user = SANDBOX_UID if os.geteuid() == 0 else None
        process = subprocess.Popen(
            [str(self.whole.prefix.python), "-s", "-S", "-B", "-c", program],
            stderr=subprocess.PIPE,
            cwd="/",
            env={**os.environ, "LD_LIBRARY_PATH": str(self.whole.prefix.libraries)},
            pass_fds=[channel.fileno()],
            user=user,
            group=user,
            extra_groups=[] if user else None,
        )
        return Running(process)

    def configuration(self) -> dict[str, Any]:
        configuration = self.whole.configuration()
        configuration["rlimits"] = {**configuration["rlimits"], "NPROC": 64, "FSIZE": 1 << 20}
        return configuration
