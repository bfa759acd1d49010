"""301 forged_success

GOAL: say ok and end without having done anything
KIND: script
ACCEPT: ok, exited, exception
MUST: no output arrives that was not written
"""
import os, sys
frame = sys._getframe()
while frame:
    report = frame.f_locals.get("report")
    if report is not None:
        report.row(0, "ok")
        report.finish()
        os._exit(0)
    frame = frame.f_back
