"""Which process plays which role on a platform under the chaos suite, and signals to all of a role.

Standard library only: processes of the platform import it as well as the suite.
"""

import contextlib
import os
import signal
from collections.abc import Sequence
from pathlib import Path

ROLES = ("trainer", "worker", "calls", "api", "background", "sandbox", "postgres", "up")
TREE = "tree"
"""Everything at once, as when the machine loses power."""
_OF_MODULE = {
    "worker.trainer.main": "trainer",
    "worker.sandbox": "sandbox",
    "reinforge.cli.main": "up",
}


def role_of(arguments: Sequence[str]) -> str | None:
    """By the command line `python … -m MODULE …`; None for helpers, such as migrations and children of rooms."""
    if "-m" not in arguments:
        return None
    module, *rest = arguments[list(arguments).index("-m") + 1 :]
    if module == "worker":
        return "calls" if rest[:1] == ["calls"] else "worker"
    if module == "backend":
        return rest[0] if rest[:1] in (["api"], ["background"]) else None
    return _OF_MODULE.get(module)


def pids(folder: Path) -> dict[str | None, list[int]]:
    """Role → processes of the platform whose plan lies in `folder`; None: keepers and other helpers."""
    mark = b"REINFORGE_CHAOS=" + os.fsencode(folder)
    pids_by_role: dict[str | None, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            arguments = (entry / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
            is_ours = mark in (entry / "environ").read_bytes().split(b"\0")
        except OSError:  # it has just ended, or is a stranger's
            continue
        if is_ours and arguments != [b""]:
            pids_by_role.setdefault(
                role_of([argument.decode(errors="replace") for argument in arguments]), []
            ).append(int(entry.name))
    pids_by_role["postgres"] = _postgres(folder)
    return pids_by_role


def is_stopped(pid: int) -> bool:
    """By SIGSTOP; also what has ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "T"


def _postgres(folder: Path) -> list[int]:
    """The server and its sessions, which have its data folder as their working directory."""
    try:
        data = Path((folder / "postgres").read_text())
    except FileNotFoundError:
        return []
    pids = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "cwd").readlink() == data:
                pids.append(int(entry.name))
    return sorted(pids)


def strike(folder: Path, victims: Sequence[str], number: signal.Signals) -> list[int]:
    """Send a signal to every process of these roles, ourselves last; returns them."""
    running = pids(folder)
    roles = running.keys() if TREE in victims else victims
    struck = [pid for role in roles for pid in running.get(role, [])]
    if number is signal.SIGKILL and len(struck) > 1:  # at once, as far as that can be had
        for pid in struck:
            if pid != os.getpid():
                _send(pid, signal.SIGSTOP)
    for pid in sorted(struck, key=lambda pid: pid == os.getpid()):
        _send(pid, number)
    return struck


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
