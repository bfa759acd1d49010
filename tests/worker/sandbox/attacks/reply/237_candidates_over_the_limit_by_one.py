"""237 candidates_over_the_limit_by_one

GOAL: 1025 numbers in rows of one
ACCEPT: bad_value
NEIGHBOURS: ok
CALL: score
STYLE: sample
MUST: the limit is exact
"""
def attack(item): return {"score": 0.77, "candidates": [[0.5]] * 1025}
