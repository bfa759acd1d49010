"""209 deep_candidates

GOAL: lists nested without end
ACCEPT: bad_value, exception, crashed, timeout
NEIGHBOURS: ok
CALL: score
STYLE: sample
MUST: no recursion on the host
"""
def attack(item):
    inner = []
    for _ in range(10**5): inner = [inner]
    return {"score": 0.0, "candidates": inner}
