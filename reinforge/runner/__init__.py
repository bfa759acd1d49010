"""Runner of rollouts: takes them from a server, and runs a program of yours for each."""

from reinforge.runner.program import reads_task

__all__ = ["reads_task"]
