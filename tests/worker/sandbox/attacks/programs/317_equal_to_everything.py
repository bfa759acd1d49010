"""317 equal_to_everything

GOAL: an object that equals, hashes and prints like anything
KIND: call
ACCEPT: bad_value
MUST: it has no canonical text
"""
class Any(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
    def __repr__(self): return "[1,2,3]"
    def __str__(self): return "[1,2,3]"
    def __class_getitem__(cls, item): return cls
def f(x): return Any(3)
