"""Where the platform does not run as root, its jails have its own user: what they still cannot reach."""

import os
import secrets
import socket
from pathlib import Path

import pytest

from worker.sandbox import RewardRow

from .harness import JAILS, NORMAL_UID, alive, running_daemon

REACH = """
import array, ctypes, os, resource, signal, socket

libc = ctypes.CDLL(None, use_errno=True)

def grade(sample, item):
    pid, secret, reached = item["pid"], item["secret"], []
    near, far = socket.socketpair()
    word = ctypes.create_string_buffer(64)
    pair = lambda kind: socket.socketpair(socket.AF_UNIX, kind)[0]
    passed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [1]))]
    attempts = {
        "read a file": lambda: secret in open(item["file"]).read(),
        "list a folder": lambda: os.listdir(item["folder"]) is not None,
        "write a file": lambda: open(item["file"], "a") is not None,
        "remove a file": lambda: os.unlink(item["file"]) is None,
        "change a file's mode": lambda: os.chmod(item["file"], 0o644) is None,
        "environment": lambda: open(f"/proc/{pid}/environ").read() is not None,
        "memory": lambda: open(f"/proc/{pid}/mem", "rb") is not None,
        "descriptors": lambda: os.listdir(f"/proc/{pid}/fd") is not None,
        "datagram": lambda: pair(socket.SOCK_DGRAM).sendto(b"out", item["socket"]) >= 0,
        "raw datagram": lambda: pair(socket.SOCK_RAW).sendto(b"out", item["socket"]) >= 0,
        "message": lambda: near.sendmsg([b"out"], passed, 0, item["socket"]) >= 0,
        "connection": lambda: socket.socket(socket.AF_UNIX).connect(item["socket"]) is None,
        "signal 0": lambda: os.kill(pid, 0) is None,
        "a signal": lambda: os.kill(pid, signal.SIGKILL) is None,
        "a signal to all": lambda: os.kill(-1, signal.SIGKILL) is None,
        "ptrace": lambda: libc.ptrace(16, pid, None, None) == 0,
        "read memory": lambda: libc.process_vm_readv(pid, word, 1, word, 1, 0) >= 0,
        "limits": lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (4, 4)) is not None,
        "priority": lambda: os.setpriority(os.PRIO_PROCESS, pid, 19) is None,
    }
    for name, attempt in attempts.items():
        try:
            if attempt():
                reached.append(name)
        except OSError:
            pass
    return {"score": len(reached), "reason": ", ".join(reached)}
"""


@pytest.mark.parametrize("jail", JAILS)
def test_a_jail_of_the_platforms_own_user_reaches_nothing_of_it(jail: str) -> None:
    """The daemon stands for every process of the platform: same user, files and sockets that are that user's."""
    user = NORMAL_UID if os.geteuid() == 0 else None
    with running_daemon(pool=1, jail=jail, user=user) as daemon, daemon.client() as client:
        folder = daemon.socket.parent
        file, address, secret = folder / "private", folder / "datagrams", secrets.token_hex(16)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
            receiver.bind(str(address))
            file.write_text(secret)
            for path in (file, address):
                own(path, user)
            item = {"pid": daemon.pid, "secret": secret, "file": str(file), "folder": str(folder)}
            (row,) = client.score(REACH, [RewardRow("p", "c", item | {"socket": str(address)})]).rows
            assert (row.status, row.value, row.reason, row.message) == ("ok", 0.0, None, None)
            receiver.setblocking(False)
            with pytest.raises(BlockingIOError):
                receiver.recv(16)
        assert file.read_text() == secret
        assert alive(daemon.pid)
        (again,) = client.score("def grade(sample, item): return 1.0", [RewardRow("p", "c")]).rows
        assert again.value == 1.0


def own(path: Path, user: int | None) -> None:
    path.chmod(0o600)
    if user is not None:
        os.chown(path, user, user)
