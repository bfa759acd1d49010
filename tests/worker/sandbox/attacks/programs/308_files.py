"""308 files

GOAL: write anywhere
KIND: script
ACCEPT: ok, exception
MUST: no file can be made
"""
import os, tempfile
for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run", ".", "/", os.path.dirname(os.__file__)):
    try:
        open(folder + "/written", "w").write("x")
        print("succeeded", folder)
    except OSError: pass
