"""217 signal_while_answering

GOAL: a timer that fires while the answer is written
ACCEPT: contained, exception, exited, bad_value, crashed
NEIGHBOURS: ok
CALL: score
STYLE: sample
MUST: a half-written row counts for nothing; no neighbour is touched
"""
import signal
def boom(*args): raise RuntimeError("late")
def attack(item):
    signal.signal(signal.SIGALRM, boom)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0001)
    return {"score": 0.25, "parts": {f"p{i}": 0.25 for i in range(16)}, "criteria": {f"c{i}": 0.25 for i in range(64)},
            "steps": [(0.25, i) for i in range(256)], "candidates": [[0.25] * 32] * 32}
