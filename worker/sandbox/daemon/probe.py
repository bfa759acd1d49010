"""Proves that a jail holds: it has to contain an attack, stop an endless loop and score a harmless reward."""

import contextlib
import os
import secrets
import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worker.sandbox.daemon.calls import ScoringCall, score
from worker.sandbox.daemon.session import JailDied, Session
from worker.sandbox.jails import Jail
from worker.sandbox.limits import Timeouts
from worker.sandbox.outcome import RewardRow
from worker.sandbox.transport import frames

_CANARY_VARIABLE = "REINFORGE_SANDBOX_CANARY"
_CONTROL_SCORE = 0.25
_LEAKED = "not contained"

ATTACK = """
import ctypes, os, resource, socket

def grade(sample, item):
    text = sample["output_text"]
    if text == "control":
        return 0.25
    while text == "hang":
        pass
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(256)
    leaks = {
        "a network socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM),
        "a vsock socket": lambda: socket.socket(40, socket.SOCK_STREAM),
        "a Unix socket": lambda: socket.socket(socket.AF_UNIX),
        "a datagram to the host": lambda: _datagrams().sendto(b"x", item["socket"]),
        "a pair of datagram sockets": _datagrams,
        "a passed descriptor": lambda: socket.send_fds(socket.socketpair()[0], [b"x"], [0]),
        "a POSIX timer": lambda: libc.syscall(222, 1, None, buffer) == 0,
        "a new process": lambda: os.fork() or os._exit(0) or True,
        "a program": lambda: os.posix_spawn(item["program"], ["x", "-V"], {}),
        "the environment": lambda: item["secret"] in repr(dict(os.environ)),
        "an open descriptor": lambda: any(_open(fd) for fd in range(3, 256)),
        "a file of the host": lambda: open(item["file"]).read(),
        "an account file": lambda: open("/etc/passwd").read(),
        "a file written on the host": lambda: open(item["folder"] + "/written", "w"),
        "a changed mode": lambda: os.chmod(item["file"], 0o666) is None,
        "a signal to another process": lambda: os.kill(os.getppid(), 0) is None,
        "ptrace": lambda: libc.ptrace(16, os.getppid(), None, None) == 0,
        "a user namespace": lambda: libc.unshare(0x10000000) == 0,
        "io_uring": lambda: libc.syscall(425, 4, buffer) >= 0,
        "a hidden memory file": lambda: os.memfd_create("x") >= 0,
        "unlimited memory": lambda: not 0 <= resource.getrlimit(resource.RLIMIT_AS)[0] < 1 << 40,
        "new privileges": lambda: libc.prctl(39, 0, 0, 0, 0) == 0,
        "the superuser": lambda: os.getuid() == 0,
    }
    got = []
    for name, attempt in leaks.items():
        try:
            if attempt():
                got.append(name)
        except Exception:
            pass
    return {"score": float(len(got)), "reason": ", ".join(got)}

def _datagrams():
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0]

def _open(fd):
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True
"""


@dataclass(frozen=True, slots=True)
class Proof:
    jail: str
    reason: str | None
    facts: dict[str, Any]

    @property
    def held(self) -> bool:
        return self.reason is None


async def choose(jails: Sequence[Jail]) -> tuple[Jail | None, list[Proof]]:
    proofs: list[Proof] = []
    for jail in jails:
        proofs.append(await prove(jail))
        if proofs[-1].held:
            return jail, proofs
    return None, proofs


async def prove(jail: Jail) -> Proof:
    """Test a jail; repeat a failure with more time, since the machine may be busy."""
    began = time.monotonic()
    facts: dict[str, Any] = {}
    reason = jail.missing()
    attempts = [] if reason else [0.3, 2.0]
    for seconds in attempts:
        try:
            reason = await _attack(jail, facts, seconds)
        except (JailDied, OSError) as error:
            reason = str(error)
        if reason is None or reason.startswith(_LEAKED):
            break
    facts["took_ms"] = round(1000 * (time.monotonic() - began), 1)
    return Proof(jail.name, reason, facts)


async def _attack(jail: Jail, facts: dict[str, Any], seconds: float) -> str | None:
    with _bait() as item:
        session = await Session.start(jail)
        facts.update(uid=session.uid, python=session.python, landlock_abi=session.landlock_abi)
        try:
            rows = [RewardRow("", c, item) for c in ("control", "attack", "hang", "control")]
            timeouts = Timeouts(load=5.0, sample=seconds, call=20.0)
            units = [[i] for i in range(len(rows))]
            call = ScoringCall(
                "score", ATTACK, "grade", frames.pack_rows(rows), units, "sample", "batch", timeouts
            )
            outcome = await score(session, call, jail.name)
        finally:
            await session.kill()
    if outcome.status != "ok":
        return f"the probe could not run: {outcome.message}"
    first, attack, hang, last = outcome.rows
    if (first.value, last.value) != (_CONTROL_SCORE, _CONTROL_SCORE):
        return f"a harmless reward was not scored: {first.message or last.message or 'wrong value'}"
    if hang.status != "timeout":
        return f"an endless loop was not stopped: {hang.status}"
    if attack.status != "ok" or attack.value != 0.0:
        return f"{_LEAKED}: {attack.reason or attack.message or attack.status}"
    return None


@contextlib.contextmanager
def _bait() -> Iterator[dict[str, str]]:
    secret = secrets.token_hex(16)
    os.environ[_CANARY_VARIABLE] = secret
    try:
        with (
            tempfile.TemporaryDirectory(prefix="reinforge-probe-") as folder,
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener,
        ):
            file, writable = Path(folder, "canary"), Path(folder, "writable")
            file.write_text(secret)
            file.chmod(0o644)
            writable.mkdir()
            writable.chmod(0o777)
            address = Path(folder, "socket")
            listener.bind(str(address))
            address.chmod(0o666)
            Path(folder).chmod(0o755)
            yield {
                "secret": secret,
                "file": str(file),
                "folder": str(writable),
                "socket": str(address),
                "program": "/bin/true",
            }
    finally:
        del os.environ[_CANARY_VARIABLE]
