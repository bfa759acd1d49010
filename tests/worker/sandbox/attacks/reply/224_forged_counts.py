"""224 forged_counts

GOAL: counts whose product is large, lengths that reach into the neighbour's window
ACCEPT: bad_value, contained, exited
NEIGHBOURS: own-call-may-change
CALL: score
STYLE: sample
MUST: a slot that is damaged travels alone
"""
import os, struct, sys
def attack(item):
    frame = sys._getframe()
    while frame:
        report = frame.f_locals.get("report")
        if report is not None:
            for row in range(3):
                struct.pack_into("<13Iddd", report._shared, 40 + 76 * row, 1, 16, 64, 256, 65536, 65536, 2**32 - 1,
                                 2**32 - 1, 2**32 - 1, 2**32 - 1, 2**32 - 1, 0, 2**32 - 1, 0.77, float("nan"), float("inf"))
            struct.pack_into("<I", report._shared, 36, 2**32 - 1)
        frame = frame.f_back
    os._exit(0)
