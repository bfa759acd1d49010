"""204 mapping_that_lies

GOAL: a mapping of length 1 that yields parts without end, to write past its row's window
ACCEPT: bad_value, exception, memory, timeout
NEIGHBOURS: ok
CALL: score
STYLE: sample
MUST: no byte outside the row's own windows
"""
from collections.abc import Mapping
class Lie(Mapping):
    def __len__(self): return 1
    def __iter__(self): return iter(())
    def __getitem__(self, key): return 1
    def items(self): return ((f"part {i}", 0.77) for i in range(10**9))
def attack(item): return {"score": 0.77, "parts": Lie(), "criteria": Lie()}
