"""A real sandbox daemon for tests: started as a process, spoken to through its socket, stopped by its pid."""

import functools
import marshal
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from worker.sandbox import RewardRow, SandboxClient
from worker.sandbox.jailed import kernel
from worker.sandbox.jails.base import SANDBOX_UID
from worker.sandbox.jails.prefix import Prefix, ensure_prefix
from worker.sandbox.transport import frames

REPOSITORY = Path(__file__).resolve().parents[3]
NORMAL_UID = 64102
CONTROL = "def grade(sample, item):\n    return 0.5\n"


@functools.cache
def cannot(jail: str) -> str | None:
    """Why this machine cannot have a jail, found out without any of the sandbox's code; None: it has to hold here."""
    if jail == "L":
        abi = kernel.landlock_abi()
        return None if abi >= 3 else f"this kernel's Landlock has version {abi}"
    program = shutil.which("bwrap")
    if program is None:
        return "bubblewrap is not installed"
    user = SANDBOX_UID if os.geteuid() == 0 else None
    done = subprocess.run(
        [program, "--unshare-user", "--unshare-pid", "--unshare-net", "--ro-bind", "/", "/", "--", "/bin/true"],
        capture_output=True, text=True, user=user, group=user, extra_groups=[] if user else None,
    )  # fmt: skip
    return None if done.returncode == 0 else f"bubblewrap is refused: {done.stderr.strip()}"


JAILS = [
    pytest.param(jail, marks=pytest.mark.skipif(bool(cannot(jail)), reason=f"jail {jail}: {cannot(jail)}"))
    for jail in ("N", "L")
]
"""For ``parametrize``: both, each skipped with the reason where the machine cannot have it."""

STRONGEST = next((jail for jail in ("N", "L") if not cannot(jail)), "none")


@dataclass(frozen=True)
class RunningDaemon:
    """A daemon that has announced its proof. ``secret`` is in its environment and nowhere else."""

    process: "subprocess.Popen[str]"
    socket: Path
    announced: str
    secret: str

    @property
    def key_file(self) -> Path:
        """The daemon created it if it listens on TCP."""
        return self.socket.with_name("sandbox.pem")

    def client(self) -> SandboxClient:
        return SandboxClient(self.socket)

    @property
    def pid(self) -> int:
        return self.process.pid

    def port(self) -> int:
        """Of TCP; to be asked for once."""
        assert self.process.stderr is not None
        return int(self.process.stderr.readline().rpartition(" ")[2])


@contextmanager
def running_daemon(
    *,
    pool: int = 1,
    jail: str | None = None,
    tcp: bool = False,
    user: int | None = None,
    script: str | None = None,
    env: Mapping[str, str] | None = None,
    libraries: bool = False,
) -> Iterator[RunningDaemon]:
    """Start sandboxd, with the strongest jail or the one given; as another user when ``user`` is given, who has the
    libraries of rewards if ``libraries``; from a Python ``script`` instead of the module. A script gets the socket's
    path as its first argument. With ``tcp`` the daemon also listens on TCP.
    """
    folder = Path(tempfile.mkdtemp(prefix="sbx-", dir="/var/tmp"))
    secret = secrets.token_hex(16)
    command, settings = _command(folder, user, libraries)
    arguments = ["-c", script, str(folder / "s")] if script else []
    arguments = arguments or ["-m", "worker.sandbox", "--socket", str(folder / "s"), "--pool", str(pool)]
    if jail is not None:
        arguments += ["--jail", jail]
    if tcp:
        arguments += ["--listen", "127.0.0.1:0", "--key-file", str(folder / "sandbox.pem")]
    process = subprocess.Popen(
        [*command, *arguments],
        env={**settings, "RFT_CANARY": secret, **(env or {})},
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
        user=user,
        group=user,
        extra_groups=[] if user else None,
    )
    try:
        assert process.stderr is not None
        announced = process.stderr.readline().strip()
        yield RunningDaemon(process, folder / "s", announced, secret)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stderr.close()
        shutil.rmtree(folder)


def _command(folder: Path, user: int | None, with_libraries: bool) -> tuple[list[str], dict[str, str]]:
    """Interpreter and environment. Another user gets the sandbox's own world-readable copy of both."""
    path = {"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    if user is None:
        inherited = {
            name: os.environ[name]
            for name in ("HOME", "REINFORGE_PREFIX", "REINFORGE_HOME")
            if name in os.environ
        }
        return [sys.executable], {**path, **inherited, "PYTHONPATH": str(REPOSITORY)}
    prefix: Prefix = ensure_prefix()
    packages, home = folder / "packages", folder / "home"
    (packages / "worker").mkdir(parents=True)
    (packages / "worker" / "__init__.py").touch()
    shutil.copytree(REPOSITORY / "worker" / "sandbox", packages / "worker" / "sandbox")
    home.mkdir()
    for owned in (folder, home):
        os.chown(owned, user, user)
    libraries = {"LD_LIBRARY_PATH": str(prefix.libraries)}
    return [str(prefix.python), "-s"], {
        **path,
        **libraries,
        "PYTHONPATH": os.pathsep.join([str(packages), *([str(prefix.site)] if with_libraries else [])]),
        "REINFORGE_HOME": str(home),
    }


def ask(path: Path, *requests: dict[str, object]) -> dict[str, Any]:
    """Send requests as they are, without the client's rules; returns the first answer, `rows` being its body."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        for request in requests:
            connection.sendall(frame(request))
        stream = connection.makefile("rb")
        head, body = frames.sizes(stream.read(8))
        answer = frames.decode(stream.read(head))
        return answer | {"rows": marshal.loads(stream.read(body))} if body else answer


def frame(request: Mapping[str, object]) -> bytes:
    """A request's frame; its ``rows``, if it has any, as the body and counted."""
    head = dict(request)
    rows = head.pop("rows", None)
    if not isinstance(rows, list):
        return frames.encode(head)
    return frames.encode({"count": len(rows), **head}, marshal.dumps(rows, 2))


def control_scores(client: SandboxClient, rows: int = 3) -> list[float | None]:
    """What a harmless reward gives now: 0.5 for each row when the sandbox is well."""
    return [row.value for row in client.score(CONTROL, [RewardRow("", "x")] * rows).rows]


def eventually(condition: Callable[[], object], within: float = 60.0) -> None:
    """Wait until a condition holds; fails the test when it does not."""
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, f"did not happen within {within} s"
        time.sleep(0.01)


def alive(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children(pid: int) -> list[int]:
    pids = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(fields[1]) == pid and fields[0] != "Z":
                pids.append(int(entry.name))
    return pids


def jails_of(daemon: RunningDaemon) -> list[int]:
    """Process ids of a daemon's zygotes; in jail N bubblewrap stands between."""
    pids: list[int] = []
    for pid in children(daemon.pid):
        pids += children(pid) if _name(pid) == "bwrap" else [pid]
    return pids


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def kill_hard(daemon: RunningDaemon) -> None:
    os.kill(daemon.pid, signal.SIGKILL)
