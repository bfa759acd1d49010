"""`python worker/launch.py PARENT FD COMMAND…`: become a trainer that cannot outlive its supervisor.

Between fork and exec of a program with threads hardly anything is safe to do, so this small program does it after
the exec: it asks the kernel for SIGKILL when the parent's thread ends, moves the record pipe to descriptor 3, and
becomes the command. Standard library only; started by file name, so that nothing else is imported.
"""

import ctypes
import os
import signal
import sys

RECORD_FD = 3
_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    parent, descriptor, command = int(arguments[0]), int(arguments[1]), arguments[2:]
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)  # the supervisor died before the kernel was asked
    if descriptor == RECORD_FD:
        os.set_inheritable(RECORD_FD, True)
    else:
        os.dup2(descriptor, RECORD_FD)
        os.close(descriptor)
    os.execv(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
