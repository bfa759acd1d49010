"""Keeper: a supervisor process around one command, so that no process outlives the platform.

It ends the command and all descendants on SIGTERM, and when its standard input closes. On Linux it is a
*subreaper*: orphaned descendants become its children.
"""

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from reinforge.system.launch import end_with_parent
from reinforge.system.process_table import (
    KILL_SECONDS,
    ProcessIdentity,
    descendants,
    identify,
    in_session,
    kill,
    kill_tree,
    send,
    wait_gone,
)

_PR_SET_CHILD_SUBREAPER = 36
_LEFTOVER_PATIENCE = 2.0


@dataclass(frozen=True, slots=True)
class KeeperPlan:
    command: list[str]
    pid_file: str
    grace: float = 10.0
    stop_signal: int = signal.SIGTERM
    user: int | None = None
    group: int | None = None
    env: dict[str, str] | None = None
    """The command's environment; None: the keeper's. Not for secrets: it is a command-line argument."""

    def argv(self) -> list[str]:
        return [sys.executable, "-P", "-m", __spec__.name, json.dumps(asdict(self))]


def end_leftovers(pid_file: Path) -> list[int]:
    """End the keeper that an earlier run recorded in `pid_file`, and its processes. Returns their pids."""
    try:
        entry = json.loads(pid_file.read_text())
        keeper = ProcessIdentity(entry["keeper"]["pid"], entry["keeper"]["started"])
        patience = float(entry["grace"]) + _LEFTOVER_PATIENCE + KILL_SECONDS
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, TypeError):  # cut short by a crash or a full disk: names nobody
        pid_file.unlink(missing_ok=True)
        return []
    ended: list[int] = []
    if send(keeper, signal.SIGTERM):
        ended.append(keeper.pid)
        if wait_gone([keeper], patience):
            ended += kill_tree(keeper)
    # A keeper that was killed leaves its session behind, and while any member lives the kernel gives the
    # session's number to no other process.
    if identify(keeper.pid) in (None, keeper):
        ended += [pid for pid in kill(in_session(keeper.pid)) if pid not in ended]
    pid_file.unlink(missing_ok=True)
    return ended


class _Keeper:
    def __init__(self, plan: KeeperPlan) -> None:
        self._plan = plan
        self._status: int | None = None
        self._stop_requested = False
        self._hurry = False
        self._wake, wake_writer = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(wake_writer, False)
        signal.pthread_sigmask(
            signal.SIG_SETMASK, ()
        )  # what our starter blocks is not for us and the command
        signal.set_wakeup_fd(wake_writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, self._on_stop)

    def _on_stop(self, number: int, _: object) -> None:
        self._stop_requested = True
        self._hurry = self._hurry or number == signal.SIGQUIT

    def run(self) -> int:
        _adopt_orphans()
        try:
            main = self._start()
        except OSError as error:
            sys.stderr.write(f"cannot start {self._plan.command[0]}: {error}\n")
            return 127
        self._write_pid_file()
        self._follow(main.pid)
        self._end_descendants()
        Path(self._plan.pid_file).unlink(missing_ok=True)
        status = self._status if self._status is not None else -signal.SIGKILL
        return status if status >= 0 else 128 - status

    def _start(self) -> subprocess.Popen[bytes]:
        keeper, number, plan = os.getpid(), self._plan.stop_signal, self._plan

        return subprocess.Popen(
            plan.command,
            stdin=subprocess.DEVNULL,
            env=plan.env,
            process_group=0,
            user=plan.user,
            group=plan.group,
            extra_groups=None if plan.user is None else [],
            preexec_fn=lambda: end_with_parent(keeper, number),
        )

    def _write_pid_file(self) -> None:
        me = identify(os.getpid())
        assert me is not None
        target = Path(self._plan.pid_file)
        entry = {"keeper": {"pid": me.pid, "started": me.started}, "grace": self._plan.grace}
        fresh = target.with_suffix(".new")
        fresh.write_text(json.dumps(entry))
        fresh.replace(target)

    def _follow(self, main: int) -> None:
        deadline: float | None = None
        while True:
            self._reap(main)
            if self._status is not None:
                return
            if self._stop_requested and deadline is None:
                deadline = time.monotonic() + self._plan.grace
                os.kill(main, self._plan.stop_signal)  # not yet reaped, so the number is still the command's
            remaining = None if deadline is None else deadline - time.monotonic()
            if self._hurry or (remaining is not None and remaining <= 0):
                return
            self._sleep(remaining)

    def _sleep(self, patience: float | None) -> None:
        watched = [self._wake] if self._stop_requested else [self._wake, 0]
        ready, _, _ = select.select(watched, [], [], patience)
        if self._wake in ready:
            os.read(self._wake, 4096)
        if 0 in ready and os.read(0, 4096) == b"":
            self._stop_requested = True

    def _reap(self, main: int) -> bool:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == main:
                self._status = os.waitstatus_to_exitcode(status)

    def _end_descendants(self) -> None:
        """End descendants by SIGTERM, then SIGKILL."""
        self._stop_requested = True
        for descendant in descendants(os.getpid()):
            send(descendant, signal.SIGTERM if self._status is not None else signal.SIGKILL)
        kill_from = time.monotonic() + _LEFTOVER_PATIENCE
        give_up = kill_from + KILL_SECONDS
        while self._reap(0) and time.monotonic() < give_up:
            if time.monotonic() >= kill_from or self._status is None or self._hurry:
                for descendant in descendants(os.getpid()):
                    send(descendant, signal.SIGKILL)
            self._sleep(0.05)


def _adopt_orphans() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    sys.exit(_Keeper(KeeperPlan(**json.loads(sys.argv[1]))).run())
