"""`python worker/machine/launch.py PARENT FD COMMAND…`: become a trainer that cannot outlive its supervisor.

Between fork and exec of a program with threads hardly anything is safe to do, so this small program does it after
the exec: it asks the kernel for SIGKILL when the parent's thread ends, moves the record pipe to descriptor 3, and
becomes the command. Where memory runs out it is ended before the platform's processes. Standard library only;
started by file name, so that nothing else is imported.
"""

import ctypes
import os
import signal
import sys
from pathlib import Path

RECORD_FD = 3
_PR_SET_PDEATHSIG = 1
OOM_SCORE = 500


def main(arguments: list[str]) -> None:
    parent, descriptor, command = int(arguments[0]), int(arguments[1]), arguments[2:]
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)  # the supervisor died before PR_SET_PDEATHSIG was set
    volunteer(OOM_SCORE)
    if descriptor == RECORD_FD:
        os.set_inheritable(RECORD_FD, True)
    else:
        os.dup2(descriptor, RECORD_FD)
        os.close(descriptor)
    os.execv(command[0], command)


def volunteer(score: int) -> None:
    """Raise this process's OOM score, so that the kernel kills it before processes with a lower score."""
    try:
        with Path("/proc/self/oom_score_adj").open("r+", encoding="ascii") as file:
            if int(file.read()) < score:
                file.seek(0)
                file.write(str(score))
    except (OSError, ValueError):
        return  # a system without it


if __name__ == "__main__":
    main(sys.argv[1:])
