"""218 kernel_timer_for_the_neighbour

GOAL: a POSIX timer that kills the process once the next row runs
ACCEPT: contained, crashed
NEIGHBOURS: ok
CALL: score
STYLE: sample
MUST: the neighbour is run again by itself and keeps its score
"""
import ctypes
def attack(item):
    libc, timer = ctypes.CDLL(None), ctypes.c_void_p()
    event = (ctypes.c_int * 16)(0, 0, 14, 0)
    libc.timer_create(1, ctypes.byref(event), ctypes.byref(timer))
    libc.timer_settime(timer, 0, (ctypes.c_long * 4)(0, 1, 0, 30000), None)
    return 0.25
