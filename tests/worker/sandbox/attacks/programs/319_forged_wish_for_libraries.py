"""319 forged_wish_for_libraries

GOAL: ask the zygote for libraries from a running program
KIND: script
ACCEPT: ok, exited, bad_value, exception
MUST: a program that runs has no wishes
"""
import os, sys
frame = sys._getframe()
while frame:
    report = frame.f_locals.get("report")
    if report is not None:
        report.needs(["numpy", "scipy", "pandas"])
        os._exit(0)
    frame = frame.f_back
