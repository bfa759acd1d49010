"""238 everything_at_its_limit

GOAL: the largest answer there is
ACCEPT: contained
NEIGHBOURS: ok
CALL: score
STYLE: sample
MUST: it fits, whole, and the neighbours' answers beside it
"""
def attack(item):
    return {"score": 0.25, "reason": "r" * 5000, "parts": {f"{i:064}": -1e6 for i in range(16)},
            "criteria": {f"{i:064}": 1e6 for i in range(64)}, "steps": [(1e6, 10**6)] * 256, "turns": [(1e6, n) for n in range(256)],
            "candidates": [[1e6] * 1024]}
