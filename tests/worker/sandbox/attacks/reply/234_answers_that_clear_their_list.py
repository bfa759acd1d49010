"""234 answers_that_clear_their_list

GOAL: batch: an answer whose conversion removes the others
ACCEPT: contained, bad_value, exception
NEIGHBOURS: ok
CALL: score
STYLE: batch
MUST: the list was copied before an element was looked at
"""
def grade(completions, items):
    answers = []
    class float64:
        __module__ = "numpy"
        ndim = 0
        def item(self): answers.clear(); return 0.25
    answers += [float64() if c == "ATTACK" else 0.5 for c in completions]
    return answers
