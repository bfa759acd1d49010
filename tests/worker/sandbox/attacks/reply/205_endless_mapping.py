"""205 endless_mapping

GOAL: a returned mapping whose keys never end
ACCEPT: timeout, memory, exception, bad_value
NEIGHBOURS: ok
CALL: score
STYLE: sample
MUST: the unit's deadline holds while the answer is looked at
"""
from collections.abc import Mapping
class Endless(Mapping):
    def __len__(self): return 1
    def __iter__(self):
        n = 0
        while True: yield n; n += 1
    def __getitem__(self, key): return 1
def attack(item): return Endless()
