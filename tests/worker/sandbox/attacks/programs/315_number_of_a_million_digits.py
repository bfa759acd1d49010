"""315 number_of_a_million_digits

GOAL: an int whose decimal text takes minutes
KIND: call
ACCEPT: ok, output_flood, timeout, exception, bad_value
MUST: it is written in time or not at all
"""
def f(x): return 7 ** 3_000_000
