"""304 read_own_memory_by_path

GOAL: read /proc/self/mem, maps, environ and the parent's
KIND: script
ACCEPT: ok, exception
MUST: nothing of the host's is read
"""
import os
for name in ("/proc/self/mem", "/proc/self/environ", "/proc/1/environ", f"/proc/{os.getppid()}/environ", "/etc/passwd"):
    try: print(name, open(name, "rb").read(2000))
    except OSError: pass
