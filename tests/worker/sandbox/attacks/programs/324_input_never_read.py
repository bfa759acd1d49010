"""324 input_never_read

GOAL: leave five megabytes of input unread
KIND: script
ACCEPT: ok
MUST: the zygote does not wait for a reader
"""
import os
os.close(0)
