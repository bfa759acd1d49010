"""309 signals

GOAL: kill the zygote and everything else
KIND: script
ACCEPT: ok, exception, crashed
MUST: only itself can be hit
"""
import os, signal
for pid in (os.getppid(), 1, -1, 0, 2):
    for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
        try:
            os.kill(pid, number)
        except OSError: pass
