"""320 broken_runner

GOAL: take away what the runner needs after the program
KIND: script
ACCEPT: ok, exception, exited
MUST: at worst its own run fails
"""
import builtins, os, sys
for name in ("len", "isinstance", "BaseException", "type", "open", "memoryview"):
    try: setattr(builtins, name, None)
    except Exception: pass
sys.modules.clear()
