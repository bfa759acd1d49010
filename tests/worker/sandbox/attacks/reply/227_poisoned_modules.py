"""227 poisoned_modules

GOAL: leave replaced modules, import hooks and builtins behind
ACCEPT: contained, exception, bad_value, exited
NEIGHBOURS: own-call-may-change
CALL: score
STYLE: sample
MUST: the next call is right, in the same zygote
"""
import builtins, sys
class Hook:
    def find_spec(self, *a): raise SystemExit
def attack(item):
    sys.meta_path[:] = [Hook()]
    for name in ("json", "re", "math", "numpy", "struct"): sys.modules[name] = None
    builtins.len = builtins.isinstance = builtins.dict = lambda *a: 1 / 0
    return 0.25
