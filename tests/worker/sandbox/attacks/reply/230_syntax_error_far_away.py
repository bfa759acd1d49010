"""230 syntax_error_far_away

GOAL: while being imported: an error at a line that no source has
ACCEPT: load_error
NEIGHBOURS: ok
CALL: load
STYLE: module
MUST: the line is left out, the error stands
"""
raise SyntaxError("far", ("reward.py", 2**40, -5, "text"))
def grade(sample, item): return 0.77
