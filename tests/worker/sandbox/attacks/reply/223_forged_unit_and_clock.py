"""223 forged_unit_and_clock

GOAL: name a unit that does not exist and a clock that is not a number, then hang
ACCEPT: timeout, deadline
NEIGHBOURS: own-call-may-change
CALL: score
STYLE: sample
MUST: the deadline does not depend on what the child says
"""
import struct, sys
def attack(item):
    frame = sys._getframe()
    while frame:
        report = frame.f_locals.get("report")
        if report is not None:
            struct.pack_into("<IIIIIdd", report._shared, 0, 1, 0xFFFFFFFF, 0, 0, 0, float("nan"), float("-inf"))
        frame = frame.f_back
    while True: pass
