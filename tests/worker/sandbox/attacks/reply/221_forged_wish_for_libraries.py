"""221 forged_wish_for_libraries

GOAL: say while being imported that libraries are needed, so that the call starts over for ever
ACCEPT: load_error, contained
NEIGHBOURS: ok
CALL: load
STYLE: module
MUST: the host believes it once at most; the zygote loads nothing off its list
"""
import struct, sys
frame = sys._getframe()
while frame:
    report = frame.f_locals.get("report")
    if report is not None:
        report.needs(["numpy", "antigravity", "os", "../../etc/passwd"])
        import os
        os._exit(0)
    frame = frame.f_back
def grade(sample, item): return 0.77
