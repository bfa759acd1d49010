"""202 names_equal_after_clipping

GOAL: two parts whose names are one after clipping
ACCEPT: bad_value
NEIGHBOURS: ok
CALL: score
STYLE: sample
MUST: a name that does not fit is refused, not cut
"""
def attack(item): return {"score": 1.0, "parts": {"x" * 64 + "a": 1, "x" * 64 + "b": 2}}
