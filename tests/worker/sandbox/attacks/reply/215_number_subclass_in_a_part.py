"""215 number_subclass_in_a_part

GOAL: an int whose float is a lie
ACCEPT: bad_value
NEIGHBOURS: ok
CALL: score
STYLE: sample
MUST: only exact numbers count, inside mappings too
"""
class N(int):
    def __float__(self): return 1e308
def attack(item): return {"score": 0.0, "criteria": {"a": N(1)}}
