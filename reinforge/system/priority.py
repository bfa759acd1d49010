"""Let other processes go first."""

import contextlib
import os
from pathlib import Path


def give_way(nice: int) -> None:
    """Lower the priority of this process, and of its session's group if it leads one.

    Linux may schedule sessions as groups (`sched_autogroup`): within its own group a process that is alone has the
    whole share, however nice it is.
    """
    os.nice(nice)
    if os.getsid(0) == os.getpid():
        with contextlib.suppress(OSError):
            Path("/proc/self/autogroup").write_text(str(nice))
