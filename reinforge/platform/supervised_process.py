"""Handle of a command that runs under a keeper process."""

import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from reinforge.platform import keeper
from reinforge.platform.places import make_private
from reinforge.system.process_table import identify, kill_tree

_KEEPER_MARGIN = 15.0
"""Seconds that a keeper may take beyond the command's own grace, to end what the command left behind."""


class SupervisedProcess:
    """A running command; everything it starts ends with it, and it ends with us."""

    def __init__(self, plan: keeper.Plan, log: Path, env: Mapping[str, str], cwd: Path | None = None) -> None:
        """Start the command, its output appended to `log`."""
        self._plan = plan
        make_private(log.parent)
        make_private(Path(plan.pid_file).parent)
        with log.open("ab") as output:
            self._keeper = subprocess.Popen(
                plan.argv(),
                stdin=subprocess.PIPE,  # its end of file tells the keeper that we are gone
                stdout=output,
                stderr=output,
                cwd=cwd,
                env=dict(env),
                start_new_session=True,
            )

    @property
    def running(self) -> bool:
        return self._keeper.poll() is None

    @property
    def status(self) -> int | None:
        """The exit status, 128 + n after signal n; None while it runs."""
        return self._keeper.poll()

    def wait(self, patience: float) -> bool:
        """Wait for the end, at most `patience` seconds; True when it has ended."""
        try:
            self._keeper.wait(patience)
        except subprocess.TimeoutExpired:
            return False
        return True

    def ask_stop(self) -> None:
        """Tell the command to end, without waiting."""
        self._keeper.terminate()

    def hurry(self) -> None:
        """End the command and its descendants by SIGKILL, without waiting."""
        self._keeper.send_signal(signal.SIGQUIT)

    def stop(self) -> None:
        """Wait until the command and all its descendants are gone; `ask_stop` comes first, here or before."""
        if not self.wait(self._plan.grace + _KEEPER_MARGIN):
            stuck = identify(self._keeper.pid)
            if stuck is not None:
                kill_tree(stuck)
            self._keeper.wait()
            keeper.end_leftovers(Path(self._plan.pid_file))
        assert self._keeper.stdin is not None
        self._keeper.stdin.close()
