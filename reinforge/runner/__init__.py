"""Rollout runner: takes rollouts from a server and runs the user's function on each."""

from reinforge.runner.program import reads_task

__all__ = ["reads_task"]
