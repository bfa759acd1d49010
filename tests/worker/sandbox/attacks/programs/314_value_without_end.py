"""314 value_without_end

GOAL: a list that contains itself, deep and wide
KIND: call
ACCEPT: bad_value, exception
MUST: depth is bounded
"""
def f(x):
    value = {"a": []}
    value["a"].append(value)
    return value
