"""312 stream_that_hangs

GOAL: replace its streams by ones that never flush
KIND: script
ACCEPT: timeout, ok, exception
MUST: the wall time holds
"""
import sys
class Stream:
    def write(self, text): return len(text)
    def flush(self):
        while True: pass
sys.stdout = sys.stderr = Stream()
print("x")
