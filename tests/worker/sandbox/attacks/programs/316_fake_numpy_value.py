"""316 fake_numpy_value

GOAL: an object that says it is NumPy's and turns into what is asked for
KIND: call
ACCEPT: ok, bad_value, exception, timeout
MUST: it can only guess
"""
class ndarray:
    __module__ = "numpy"
    def tolist(self): return self
def f(x): return ndarray()
