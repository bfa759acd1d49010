"""214 step_ends_that_are_no_places

GOAL: an end beyond any text among good ones
ACCEPT: bad_value
NEIGHBOURS: ok
CALL: score
STYLE: sample
MUST: it is refused, and the row with it
"""
def attack(item): return {"score": 0.77, "steps": [(0.5, 1), (0.5, 2**70), (0.5, float("nan")), (0.5, -1)]}
