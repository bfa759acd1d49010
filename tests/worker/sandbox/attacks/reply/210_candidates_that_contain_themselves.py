"""210 candidates_that_contain_themselves

GOAL: a cycle
ACCEPT: bad_value, exception
NEIGHBOURS: ok
CALL: score
STYLE: sample
MUST: no endless walk
"""
def attack(item):
    vectors = [1.0]
    vectors.append(vectors)
    return {"score": 0.0, "candidates": [vectors]}
