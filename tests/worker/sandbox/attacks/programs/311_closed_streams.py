"""311 closed_streams

GOAL: close its streams, then answer
KIND: call
ACCEPT: ok, exception, exited
MUST: no neighbour and no zygote is disturbed
"""
import os, sys
for fd in range(0, 64):
    try: os.close(fd)
    except OSError: pass
def f(x): return "late"
