"""201 name_with_nul

GOAL: end a part's name early, so that the host reads more names than numbers
ACCEPT: bad_value
NEIGHBOURS: ok
CALL: score
STYLE: sample
MUST: the name is refused in the jail; no neighbour's part moves
"""
def attack(item): return {"score": 1.0, "parts": {"a\0b": 1, "c": 2}}
