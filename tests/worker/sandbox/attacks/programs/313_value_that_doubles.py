"""313 value_that_doubles

GOAL: a value of 2**60 equal lists
KIND: call
ACCEPT: output_flood, memory, timeout, bad_value, crashed, exception
MUST: limits of memory, time and output hold while it is written
"""
def f(x):
    value = [1]
    for _ in range(60): value = [value, value]
    return value
