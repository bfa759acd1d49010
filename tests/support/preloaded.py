"""Processes that start at once: forked from a process that has imported their module already.

    done = run_module("reinforge.cli.main", "job", "list", env=environment)
    trainer = start_module("worker.trainer.main", "--run", folder, stdin=subprocess.PIPE, stdout=log, stderr=log)

An import costs 1 s of CPU time for the command line and 5 s for the trainer, which is most of what their tests cost.
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
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any, NoReturn

_ROOT = Path(__file__).resolve().parents[2]
_REQUEST_BYTES = 1 << 20
_MOST_FILES = 32


class ModuleProcess:
    """A process that runs `module.main()`; used like a `subprocess.Popen`."""

    def __init__(self, state: socket.socket, args: list[str], stdin: IO[bytes] | None) -> None:
        self.args, self.stdin = args, stdin
        self.returncode: int | None = None
        self._state = state
        self.pid = int(self._receive())

    def _receive(self) -> bytes:
        answer = self._state.recv(64)
        if not answer:
            raise RuntimeError(f"the process that starts {self.args[0]} has ended")
        return answer

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._state], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self.returncode = os.waitstatus_to_exitcode(int(self._receive()))
            self._state.close()
        return self.returncode

    def poll(self) -> int | None:
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def start_module(
    module: str,
    *args: str | Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: int | IO[bytes] = subprocess.DEVNULL,
    stdout: int | IO[bytes] = subprocess.DEVNULL,
    stderr: int | IO[bytes] = subprocess.DEVNULL,
    pass_fds: Iterable[int] = (),
) -> ModuleProcess:
    """stdin may be `subprocess.PIPE`; streams are files, descriptors or `subprocess.DEVNULL`."""
    environment = dict(os.environ if env is None else env)
    numbers = list(pass_fds)
    words = [module, *map(str, args)]
    request = {
        "args": words[1:],
        "env": environment,
        "cwd": str(cwd or Path.cwd()),
        "fds": [0, 1, 2, *numbers],
    }
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    writing: IO[bytes] | None = None
    closing: list[int] = [theirs.detach()]

    def number_of(stream: int | IO[bytes]) -> int:
        if stream == subprocess.DEVNULL:
            closing.append(os.open(os.devnull, os.O_RDWR))
            return closing[-1]
        return stream if isinstance(stream, int) else stream.fileno()

    if stdin == subprocess.PIPE:
        reading, write_end = os.pipe()
        closing.append(reading)
        writing, stdin = os.fdopen(write_end, "wb"), reading
    try:
        files = [closing[0], *map(number_of, (stdin, stdout, stderr)), *numbers]
        control = _server(module, environment.get("OMP_NUM_THREADS", ""))
        socket.send_fds(control, [json.dumps(request).encode()], files)
    finally:
        for number in closing:
            os.close(number)
    return ModuleProcess(ours, words, writing)


def run_module(
    module: str,
    *args: str | Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """`subprocess.run([python, "-m", module, *args], capture_output=True, text=True, …)`."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = start_module(module, *args, env=env, cwd=cwd, stdout=out, stderr=err)
        try:
            code = process.wait(timeout)
        except BaseException:
            process.kill()
            raise
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode())
    return subprocess.CompletedProcess(process.args, code, *texts)


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
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that wait
    while True:
        data, files, _, _ = socket.recv_fds(control, _REQUEST_BYTES, _MOST_FILES)
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
    """Report the process's number and, later, how it ended."""
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
    highest = max(*request["fds"], 63) + 1
    moved = [fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, highest) for number in files]
    for number in files:
        os.close(number)
    for source, target in zip(moved, request["fds"], strict=True):
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
