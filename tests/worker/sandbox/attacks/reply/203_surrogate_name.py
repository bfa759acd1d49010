"""203 surrogate_name

GOAL: a name that cannot be encoded
ACCEPT: bad_value
NEIGHBOURS: ok
CALL: score
STYLE: sample
MUST: no exception of the child's own code
"""
def attack(item): return {"score": 1.0, "criteria": {"\ud800": 1}}
