"""321 success_from_inside_a_test

GOAL: a test in the program's process that is left before it judges
KIND: test
ACCEPT: exited, exception
MUST: leaving is not passing
"""
import os, atexit
atexit.register(os._exit, 0)
def f(x): os._exit(0)
