"""216 class_that_lies

GOAL: an object whose __class__ says dict
ACCEPT: bad_value, exception
NEIGHBOURS: ok
CALL: score
STYLE: sample
MUST: what it says of itself is not believed
"""
class Liar:
    @property
    def __class__(self): return dict
    def keys(self): return ["score"]
    def __getitem__(self, key): return 0.77
    def items(self): raise KeyboardInterrupt
def attack(item): return {"score": 0.0, "parts": Liar()}
