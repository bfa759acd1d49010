"""229 syntax_error_with_hostile_fields

GOAL: an error whose fields are code
ACCEPT: exception
NEIGHBOURS: ok
CALL: score
STYLE: sample
MUST: the child describes it or says that it cannot
"""
class Text:
    def __str__(self): raise SystemExit
    def strip(self): raise KeyboardInterrupt
class E(SyntaxError):
    filename = "reward.py"
    @property
    def text(self): return Text()
    @property
    def msg(self): raise KeyboardInterrupt
    lineno = 2**70
    offset = "x"
def attack(item): raise E("x")
