"""240 endless_clock

GOAL: a row that never runs out of time: its clocks in the header are infinite, later, or of the unit before
ACCEPT: timeout
NEIGHBOURS: ok
CALL: score
STYLE: sample
MUST: the row ends at its time limit, its neighbours keep theirs
"""
import gc, struct, time
def attack(item):
    regions = [o._shared for o in gc.get_objects() if type(o).__name__ == "Report"]
    for step in range(60):
        for started in (float("inf"), time.monotonic(), 1e300, float("nan"), -1.0):
            for region in regions:
                struct.pack_into("<dd", region, 20, started, started)
        for region in regions:
            struct.pack_into("<dd", region, 20, time.monotonic(), float("inf"))
        time.sleep(0.05)
    return 0.25
