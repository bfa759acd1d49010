"""219 hoarded_memory

GOAL: use up the address space, keep it, and let the neighbour run out of it
ACCEPT: contained, memory
NEIGHBOURS: ok
CALL: score
STYLE: sample
MUST: the neighbour is run again by itself and keeps its score
"""
import mmap
hoard = []
def attack(item):
    for size in (256 << 20, 16 << 20, 1 << 20, 1 << 16, 1 << 12):
        try:
            while True: hoard.append(mmap.mmap(-1, size))
        except OSError:
            pass
    return 0.25
