"""302 forged_value

GOAL: write a value of its own choice to the pipe of canonical values
KIND: call
ACCEPT: ok, exception, exited
MUST: it can only guess: what is expected is not in the jail
"""
import os
for fd in range(3, 64):
    try: os.write(fd, b"[1,2,3]")
    except OSError: pass
def f(x): os._exit(0)
