"""233 generator_for_an_answer

GOAL: a generator, closed over a bomb
ACCEPT: bad_value
NEIGHBOURS: ok
CALL: score
STYLE: sample
MUST: nothing iterates it
"""
def bomb():
    yield 0.77
    while True: pass
def attack(item): return bomb()
