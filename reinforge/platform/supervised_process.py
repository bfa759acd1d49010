"""Handle of a command that runs under a keeper process."""

import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from reinforge.platform import keeper
from reinforge.platform.places import make_private
from reinforge.system.process_table import identify, kill_tree

_KEEPER_MARGIN = 15.0


class SupervisedProcess:
    """A running command, which ends with this process; its descendants end with the command."""

    def __init__(
        self, plan: keeper.KeeperPlan, log: Path, env: Mapping[str, str], cwd: Path | None = None
    ) -> None:
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
        """Exit status, 128 + n after signal n; None while it runs."""
        return self._keeper.poll()

    def wait(self, patience: float) -> bool:
        try:
            self._keeper.wait(patience)
        except subprocess.TimeoutExpired:
            return False
        return True

    def ask_stop(self) -> None:
        self._keeper.terminate()

    def hurry(self) -> None:
        self._keeper.send_signal(signal.SIGQUIT)

    def stop(self) -> None:
        if not self.wait(self._plan.grace + _KEEPER_MARGIN):
            stuck = identify(self._keeper.pid)
            if stuck is not None:
                kill_tree(stuck)
            self._keeper.wait()
            keeper.end_leftovers(Path(self._plan.pid_file))
        assert self._keeper.stdin is not None
        self._keeper.stdin.close()
