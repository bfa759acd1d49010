"""206 reason_is_a_subclass

GOAL: text whose methods are the reward's
ACCEPT: bad_value
NEIGHBOURS: ok
CALL: score
STYLE: sample
MUST: only exact text is a reason
"""
class S(str):
    def __getitem__(self, key): return self * 10**6
    def encode(self, *a): return b"x" * 10**8
def attack(item): return {"score": 0.0, "reason": S("x")}
