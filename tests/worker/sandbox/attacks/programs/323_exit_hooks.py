"""323 exit_hooks

GOAL: hang in hooks that run at the end
KIND: script
ACCEPT: ok
MUST: hooks do not run
"""
import atexit, sys, threading, weakref
def hang():
    while True: pass
atexit.register(hang)
sys.excepthook = lambda *a: hang()
class D:
    def __del__(self): hang()
keep = D()
