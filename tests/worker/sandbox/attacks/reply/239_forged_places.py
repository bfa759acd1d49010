"""239 forged_places

GOAL: rows whose contents lie past the end, in a neighbour's, in the headers, and nowhere
ACCEPT: bad_value, contained, exited
NEIGHBOURS: own-call-may-change
CALL: score
STYLE: sample
MUST: what lies outside of what was sent is damaged, and nothing else is read
"""
import os, struct, sys
def attack(item):
    frame = sys._getframe()
    while frame:
        report = frame.f_locals.get("report")
        if report is not None:
            for row, place in enumerate((2**32 - 1, 2**32 - 40, 1)):
                struct.pack_into("<13Iddd", report._shared, 40 + 76 * row, 1, 0, 0, 0, 0, 0, 0, 0, 1000, 1000, 2000,
                                 place, 0, 0.77, 0.0, 0.0)
            struct.pack_into("<I", report._shared, 36, 100)
        frame = frame.f_back
    os._exit(0)
