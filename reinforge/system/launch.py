"""`python -I -S launch.py PARENT SIGNAL OOM_SCORE DESCRIPTOR COMMAND…`: sets up a process, runs COMMAND."""

import ctypes
import os
import sys
from pathlib import Path

RESULT_FD = 3
TRAINING_OOM_SCORE = 500
_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    """Run COMMAND. SIGNAL and OOM_SCORE: not set if 0. DESCRIPTOR: moved to RESULT_FD, unless it is `-`."""
    parent, number, oom_score, descriptor, *command = arguments
    if int(number):
        end_with_parent(int(parent), int(number))
    if int(oom_score):
        raise_oom_score(int(oom_score))
    if descriptor != "-":
        _move(int(descriptor), RESULT_FD)
    os.execv(command[0], command)


def end_with_parent(parent: int, number: int) -> None:
    """Request signal `number` when the thread that started this process ends; exit if `parent` has ended."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    if os.getppid() != parent:
        os._exit(1)  # it ended before the signal was set


def raise_oom_score(score: int) -> None:
    try:
        with Path("/proc/self/oom_score_adj").open("r+", encoding="ascii") as file:
            if int(file.read()) < score:
                file.seek(0)
                file.write(str(score))
    except (OSError, ValueError):
        return  # a system without it


def _move(descriptor: int, target: int) -> None:
    if descriptor == target:
        os.set_inheritable(target, True)
    else:
        os.dup2(descriptor, target)
        os.close(descriptor)


if __name__ == "__main__":
    main(sys.argv[1:])
