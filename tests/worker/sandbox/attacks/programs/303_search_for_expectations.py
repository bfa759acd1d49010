"""303 search_for_expectations

GOAL: look through all memory it can reach for other tests' inputs and outputs
KIND: call
ACCEPT: ok, exception, timeout, memory, bad_value
MUST: the secret of the other runs is in no object here
"""
import gc, sys
def f(x):
    found = []
    for each in gc.get_objects():
        text = None
        if type(each) in (str, bytes, bytearray, memoryview): text = each
        elif type(each) is dict: text = repr(list(each.values()))[:100000]
        elif type(each) is list: text = repr(each)[:100000]
        if text is not None:
            text = bytes(text).decode("latin1") if type(text) is not str else text
            at = text.find("SECRET" + "-")
            if at >= 0: found.append(text[at:at + 60])
    return found
