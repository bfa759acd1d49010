"""226 poisoned_conversion

GOAL: replace the jail's own converter for the rows behind
ACCEPT: contained, bad_value, exception
NEIGHBOURS: own-call-may-change
CALL: score
STYLE: sample
MUST: at most the own call lies; the next call is right
"""
import sys
def attack(item):
    for name, module in list(sys.modules.items()):
        if name.startswith("jailed"):
            for attribute in ("convert", "number", "as_list"):
                if hasattr(module, attribute): setattr(module, attribute, lambda *a: 1 / 0)
    return 0.25
