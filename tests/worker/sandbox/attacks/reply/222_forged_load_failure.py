"""222 forged_load_failure

GOAL: say while running that the module could not be loaded
ACCEPT: contained, exited, exception, bad_value
NEIGHBOURS: own-call-may-change
CALL: score
STYLE: sample
MUST: how far a child came is the zygote's observation; no row becomes a load error
"""
import os, sys
def attack(item):
    frame = sys._getframe()
    while frame:
        report = frame.f_locals.get("report")
        if report is not None: report.load_failed("forged", 1, 1)
        frame = frame.f_back
    os._exit(0)
