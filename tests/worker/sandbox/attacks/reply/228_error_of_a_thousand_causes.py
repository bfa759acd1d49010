"""228 error_of_a_thousand_causes

GOAL: an error with a cycle of causes, a class name of megabytes and frames from a poisoned cache
ACCEPT: exception
NEIGHBOURS: own-call-may-change
CALL: score
STYLE: sample
MUST: at most 2 KiB of message arrives
"""
import linecache
class Cache(dict):
    def __contains__(self, key): raise KeyboardInterrupt
def attack(item):
    first, second = RuntimeError("a" * 10**7), RuntimeError("b")
    first.__cause__, second.__cause__ = second, first
    linecache.cache = Cache()
    def deep(n):
        if n == 0: raise first
        deep(n - 1)
    deep(800)
