"""305 inherited_descriptors

GOAL: use every descriptor that is open
KIND: script
ACCEPT: ok
MUST: none but input, output and nowhere are open
"""
import os
for fd in range(3, 1024):
    try: os.fstat(fd)
    except OSError: continue
    print("open", fd, os.readlink(f"/proc/self/fd/{fd}") if os.path.exists("/proc/self/fd") else "")
    try: os.write(fd, b"X" * 4096)
    except OSError: pass
