"""306 processes

GOAL: fork, vfork, spawn, exec
KIND: script
ACCEPT: ok, exception
MUST: no second process
"""
import os, subprocess
for attempt in (os.fork, lambda: os.posix_spawn("/bin/sh", ["sh"], {}), lambda: subprocess.run(["true"]),
                lambda: os.execv("/bin/sh", ["sh", "-c", "echo succeeded"])):
    try:
        attempt()
        print("succeeded")
    except OSError: pass
