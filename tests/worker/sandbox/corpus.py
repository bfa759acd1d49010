"""The attack corpus: reading the headers, wrapping the rewards, preparing what they aim at, judging the outcome."""

import os
import re
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worker.sandbox import CallOutcome, RewardRow, SandboxClient, Timeouts

ATTACKS = sorted(Path(__file__).with_name("attacks").glob("[0-9]*.py"))
TIMEOUTS = Timeouts(load=1.0, sample=0.4, call=15.0)

_WRAP = {
    "sample": '\n_attack = grade\ndef grade(sample, item): return _attack(sample["output_text"], item)\n',
    "batch": "\n_attack = grade\n"
    'def grade(samples, items): return _attack([s["output_text"] for s in samples], items)\n',
    "module": "\n",
}

NEXT = """
import json, os

def grade(sample, item):
    left = []
    for folder in ("/tmp", "/var/tmp", "/dev/shm", os.getcwd()):
        try:
            left += [name for name in os.listdir(folder) if name in item["planted"]]
        except OSError:
            pass
    return 0.5 if not left and json.loads("[1]") == [1] and not hasattr(json, "POISON") else 1.0
"""
"""A reward that follows an attack: 0.5 when it finds nothing of it."""
PLANTED = ["json.py", "re.py", "sitecustomize.py", "usercustomize.py", "numpy.py", "reward.py", "written"]


@dataclass(frozen=True)
class Attack:
    name: str
    source: str
    accept: frozenset[str]
    neighbours: str
    style: str
    loads: bool

    @classmethod
    def read(cls, path: Path) -> "Attack":
        text = path.read_text()
        fields = dict(re.findall(r"^(ACCEPT|NEIGHBOURS|CALL|STYLE): (.*)$", text, re.MULTILINE))
        return cls(
            path.stem,
            text + _WRAP[fields["STYLE"]],
            frozenset(fields["ACCEPT"].split(", ")),
            fields["NEIGHBOURS"],
            fields["STYLE"],
            fields["CALL"] != "load",
        )

    def rows(self, item: dict[str, Any]) -> list[RewardRow]:
        return [RewardRow("", completion, item) for completion in ("fine", "ATTACK", "fine")]

    def run(self, client: SandboxClient, item: dict[str, Any], isolate: str = "batch") -> CallOutcome:
        rows = self.rows(item)
        granularity = "batch" if self.style == "batch" else "sample"
        return client.score(self.source, rows, granularity=granularity, isolate=isolate, timeouts=TIMEOUTS)

    def verdict(self, outcome: CallOutcome) -> str:
        """The corpus's word for what became of the attack: a status, ``contained`` or ``succeeded``."""
        if outcome.status != "ok":
            return "sandbox" if outcome.status == "sandbox_error" else outcome.status
        row = outcome.rows[1]
        if row.status == "ok":
            return "contained" if row.value in (0.0, 0.25) else "succeeded"
        return (
            "exception" if row.status == "memory" else row.status
        )  # to the corpus a MemoryError is an exception

    def complaints(self, outcome: CallOutcome) -> list[str]:
        """What does not hold of the header's promises."""
        verdict = self.verdict(outcome)
        complaints = [] if verdict in self.accept else [f"{verdict}: {outcome}"]
        if outcome.status == "ok" and self.neighbours == "ok":
            values = [row.value for row in (outcome.rows[0], outcome.rows[2])]
            complaints += [] if values == [0.5, 0.5] else [f"neighbours scored {values}: {outcome}"]
        if outcome.status == "ok" and self.neighbours == "same":
            statuses = {row.status for row in outcome.rows}
            complaints += [] if len(statuses) == 1 else [f"neighbours ended differently: {statuses}"]
        return complaints


class Targets:
    """What attacks aim at: listeners that must hear nothing, files that must stay as they are and unread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._content = secrets.token_hex(16)
        self._tcp, self._udp = socket.socket(), socket.socket(type=socket.SOCK_DGRAM)
        self._unix, self._abstract = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
        self._datagrams, self._abstract_datagrams = (
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(2)
        )
        self._abstract_name = f"reinforge-test-{self._content}"
        self._tcp.bind(("127.0.0.1", 0))
        self._udp.bind(("127.0.0.1", 0))
        self._unix.bind(str(folder / "listener"))
        self._abstract.bind("\0" + self._abstract_name)
        self._datagrams.bind(str(folder / "datagrams"))
        self._abstract_datagrams.bind("\0" + self._abstract_name + "-datagrams")
        for path in (folder / "listener", folder / "datagrams"):
            path.chmod(0o666)
        for listener in self._streams:
            listener.listen()
        for sock in self.sockets:
            sock.setblocking(False)
        self._files = [folder / "public", folder / "private"]
        for file, mode in zip(self._files, (0o644, 0o600), strict=True):
            file.write_text(self._content)
            file.chmod(mode)
        (folder / "open").mkdir()
        (folder / "open").chmod(0o777)
        folder.chmod(0o755)

    @property
    def folder(self) -> Path:
        return self._folder

    @property
    def sockets(self) -> tuple[socket.socket, ...]:
        return (*self._streams, *self._connectionless)

    @property
    def _streams(self) -> tuple[socket.socket, ...]:
        return self._tcp, self._unix, self._abstract

    @property
    def _connectionless(self) -> tuple[socket.socket, ...]:
        return self._udp, self._datagrams, self._abstract_datagrams

    def item(self, secret: str, host_pid: int, runner: str) -> dict[str, Any]:
        return {
            "port": self._tcp.getsockname()[1],
            "udp": self._udp.getsockname()[1],
            "unix": str(self._folder / "listener"),
            "abstract": self._abstract_name,
            "datagrams": str(self._folder / "datagrams"),
            "abstract_datagrams": self._abstract_name + "-datagrams",
            "canary_files": [str(file) for file in self._files],
            "canary_dir": str(self._folder / "open"),
            "forbidden_dirs": ["/etc", "/home", "/root", str(self._folder)],
            "secret_head": secret[:8],
            "host_pid": host_pid,
            "runner": runner,
            "threads": False,
        }

    def damage(self, outcome: CallOutcome | None, secret: str) -> list[str]:
        """Traces of an attack that got through."""
        damage = []
        for sock in self.sockets:
            try:
                received = sock.recv(64) if sock in self._connectionless else sock.accept()
            except BlockingIOError:
                continue
            damage.append(f"a listener was contacted: {received!r}")
        damage += [f"{f.name} was changed" for f in self._files if f.read_text() != self._content]
        damage += [f"{left} was written" for left in (self._folder / "open").iterdir()]
        text = repr(outcome)
        damage += [f"{what} leaked" for what in (secret, self._content) if what[:8] in text]
        return damage


@contextmanager
def targets(owner: int | None = None) -> Iterator[Targets]:
    folder = Path(tempfile.mkdtemp(prefix="sbx-target-", dir="/var/tmp"))
    try:
        made = Targets(folder)
        if owner is not None:
            for path in (folder, *folder.iterdir()):
                os.chown(path, owner, owner)
        try:
            yield made
        finally:
            for sock in made.sockets:
                sock.close()
    finally:
        shutil.rmtree(folder)
