"""208 reason_of_surrogates

GOAL: text that has no UTF-8
ACCEPT: contained
NEIGHBOURS: ok
CALL: score
STYLE: sample
MUST: it arrives with replacements
"""
def attack(item): return {"score": 0.25, "reason": "\ud800\udfff" * 4000}
