"""220 lowered_limits

GOAL: lower the process's own limits for the neighbour
ACCEPT: contained, memory, exception, crashed, exited
NEIGHBOURS: ok
CALL: score
STYLE: sample
MUST: the neighbour is run again by itself and keeps its score
"""
import resource
def attack(item):
    for name in ("RLIMIT_AS", "RLIMIT_DATA"):
        try: resource.setrlimit(getattr(resource, name), (1 << 20, 1 << 20))
        except (OSError, ValueError): pass
    bytearray(64 << 20)
    return 0.25
