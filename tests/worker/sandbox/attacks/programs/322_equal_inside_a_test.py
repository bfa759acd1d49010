"""322 equal_inside_a_test

GOAL: a test in the program's process that asks an __eq__ of the program's
KIND: test
ACCEPT: exception
MUST: asserts compare plainly
"""
class A:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
def f(x): return A()
