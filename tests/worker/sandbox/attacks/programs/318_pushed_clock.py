"""318 pushed_clock

GOAL: move the start of its unit forward for ever
KIND: script
ACCEPT: timeout, deadline, cpu_limit
MUST: it ends at twice its wall time at the latest
"""
import struct, sys, time
frame = sys._getframe()
while frame:
    report = frame.f_locals.get("report")
    if report is not None: break
    frame = frame.f_back
while True:
    if report is not None:
        struct.pack_into("<IIIIIdd", report._shared, 0, 1, 0, 0, 0, 0, time.monotonic() + 1e6, -1e6)
