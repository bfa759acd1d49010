"""236 batch_iterator_for_a_list

GOAL: batch: an iterator that never ends
ACCEPT: exception
NEIGHBOURS: same
CALL: score
STYLE: batch
MUST: nothing iterates it
"""
import itertools
def grade(completions, items): return itertools.repeat(0.77)
