"""Child processes with pipes and a parent-death signal, ended as a process group."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, BinaryIO

from reinforge.system import launch

_SHORTEST_POLL_SECONDS, _LONGEST_POLL_SECONDS = 0.001, 0.05
_CLOSE_SECONDS = 0.1


class ChildProcess:
    """A command that should exit when its standard input closes."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        stdout: int | IO[bytes] | None = None,
        stderr: int | IO[bytes] | None = None,
        cwd: Path | None = None,
        descriptors: Sequence[int] = (),
        own_session: bool = True,
        end_signal: int = 0,
        oom_score: int = 0,
        with_results: bool = False,
    ) -> None:
        """Start a command. own_session: if False, signals to the caller's process group reach the command.
        end_signal: sent to the command when the calling thread ends. Raises OSError.
        """
        self._own_session = own_session
        self._writing = threading.Lock()
        self._reaping = threading.Lock()
        self.results: BinaryIO | None = None
        result_ends = os.pipe() if with_results else ()
        try:
            if end_signal or oom_score or with_results:
                settings = (os.getpid(), end_signal, oom_score, result_ends[1] if result_ends else "-")
                command = [sys.executable, "-I", "-S", launch.__file__, *map(str, settings), *command]
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=stdout,
                stderr=stderr,
                cwd=cwd,
                env=dict(env),
                pass_fds=(*result_ends[1:], *descriptors),
                start_new_session=own_session,
            )
        except BaseException:
            for descriptor in result_ends:
                os.close(descriptor)
            raise
        if result_ends:
            os.close(result_ends[1])
            self.results = os.fdopen(result_ends[0], "rb")

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def stdout(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout

    def send(self, data: bytes) -> bool:
        with self._writing:
            try:
                assert self._process.stdin is not None
                self._process.stdin.write(data)
                self._process.stdin.flush()
            except (OSError, ValueError):
                return False
        return True

    def close_input(self, seconds: float = _CLOSE_SECONDS) -> None:
        """Close the standard input; gives up after `seconds` if a `send` blocks."""
        assert self._process.stdin is not None
        if self._writing.acquire(timeout=seconds):
            with contextlib.suppress(OSError):
                self._process.stdin.close()
            self._writing.release()

    def poll(self) -> int | None:
        with self._reaping:
            if self._process.returncode is not None:
                return self._process.returncode
            result = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if result is None:
            return None
        return result.si_status if result.si_code == os.CLD_EXITED else -result.si_status

    def wait(self, seconds: float | None = None) -> int | None:
        deadline = None if seconds is None else time.monotonic() + seconds
        pause = _SHORTEST_POLL_SECONDS
        while (status := self.poll()) is None:
            if deadline is not None and time.monotonic() >= deadline:
                return None
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_POLL_SECONDS)
        return status

    def signal(self, number: int) -> None:
        with self._reaping:
            if self._process.returncode is None:
                os.kill(self.pid, number)

    def end(self, seconds: float) -> int:
        self.close_input()
        self.wait(seconds)
        return self.kill()

    def kill(self) -> int:
        """Kill and reap the command, with its group if `own_session`. Returns its exit status."""
        with self._reaping:
            if self._process.returncode is None:
                (os.killpg if self._own_session else os.kill)(self.pid, signal.SIGKILL)
            return self._process.wait()
