"""Processes that start fast: forks of a process that has already imported their module.

    done = run_module("reinforge.cli.main", "job", "list", env=environment)

An import of the command line costs 1 s of CPU time, which is most of what its tests cost.
Only the import is shared: every process has its own environment, folder, standard streams, signals and exit code. A
test of what a process imports, or of its first line, starts `python -m MODULE` instead.
"""

import fcntl
import functools
import importlib
import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

_ROOT = Path(__file__).resolve().parents[2]
_REQUEST_BYTES = 1 << 20
_FILES = 4
"""The socket for the end, and the standard streams."""


def run_module(
    module: str,
    *args: str | Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """`subprocess.run([python, "-m", module, *args], capture_output=True, text=True, …)`. Its input is empty."""
    environment = dict(os.environ if env is None else env)
    words = [module, *map(str, args)]
    request = {"args": words[1:], "env": environment, "cwd": str(cwd or Path.cwd())}
    control = _server(module, environment.get("OMP_NUM_THREADS", ""))
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with (
        ours,
        Path(os.devnull).open("rb") as empty,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        with theirs:
            files = [stream.fileno() for stream in (theirs, empty, out, err)]
            socket.send_fds(control, [json.dumps(request).encode()], files)
        pid = int(_receive(ours, words))
        if not select.select([ours], [], [], timeout)[0]:
            os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(words, timeout or 0)
        code = os.waitstatus_to_exitcode(int(_receive(ours, words)))
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode())
    return subprocess.CompletedProcess(words, code, *texts)


def _receive(state: socket.socket, words: list[str]) -> bytes:
    if not (answer := state.recv(64)):
        raise RuntimeError(f"the process that starts {words[0]} has ended")
    return answer


@functools.cache
def _server(module: str, threads: str) -> socket.socket:
    """The process that forks. It ends with this one, whose end of the socket closes then.

    threads: OMP_NUM_THREADS, which libraries read while they are imported.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    with theirs:
        subprocess.Popen(
            [sys.executable, "-m", "tests.support.preloaded", module, str(theirs.fileno())],
            cwd=_ROOT, env=environment | ({"OMP_NUM_THREADS": threads} if threads else {}),
            pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
        )  # fmt: skip
    return ours


# ── The process that forks ──────────────────────────────────────────────────────────────────────────────────


def _serve(control: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Start a process for each request. Returns the request in the process that is to run it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal: the tests decide what it means
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the processes in between are never waited for
    while True:
        data, files, _, _ = socket.recv_fds(control, _REQUEST_BYTES, _FILES)
        if not data:
            os._exit(0)
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            control.close()
            child = os.fork()
            if child == 0:
                os.close(files[0])
                return json.loads(data), files[1:]
            _wait_for(child, socket.socket(fileno=files[0]), files[1:])
        for number in files:
            os.close(number)


def _wait_for(child: int, state: socket.socket, files: list[int]) -> NoReturn:
    """Report the pid of the process and, later, its exit status."""
    for number in files:
        os.close(number)
    state.send(str(child).encode())
    _, status = os.waitpid(child, 0)
    try:
        state.send(str(status).encode())
    finally:
        os._exit(0)


def _become(request: dict[str, Any], files: list[int]) -> None:
    """What differs between a forked process and a new one."""
    # Above the standard streams first, whose numbers they might have.
    moved = [fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 10) for number in files]
    for number in files:
        os.close(number)
    for target, source in enumerate(moved):
        os.dup2(source, target)
        os.close(source)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    time.tzset()
    random.seed()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = [sys.argv[0], *request["args"]]
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    if output := sys.modules.get("reinforge.cli.output"):
        # Made on import, for the environment and the streams of then.
        vars(output.out).update(vars(output._console(sys.stdout)))
        vars(output.err).update(vars(output._console(sys.stderr, stderr=True)))


def _main() -> None:
    module = importlib.import_module(sys.argv[1])
    request, files = _serve(socket.socket(fileno=int(sys.argv[2])))
    _become(request, files)
    module.main()


if __name__ == "__main__":
    _main()
