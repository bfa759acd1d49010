"""211 fake_numpy_of_a_billion

GOAL: an object that says it is NumPy's and unfolds into a list that fills the memory
ACCEPT: bad_value, memory, exception, crashed, timeout
NEIGHBOURS: ok
CALL: score
STYLE: sample
MUST: the memory limit holds; neighbours are scored
"""
class ndarray:
    __module__ = "numpy"
    ndim = 2
    def tolist(self): return [[0.0] * 10**7] * 10**3 + [[0.0] * 10**8 for _ in range(100)]
def attack(item): return {"score": 0.0, "candidates": ndarray()}
