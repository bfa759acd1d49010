"""310 output_past_every_limit

GOAL: raw output without end on both descriptors
KIND: script
ACCEPT: output_flood, timeout
MUST: the zygote stops reading and ends it
"""
import os
while True:
    os.write(2, b"x" * 65536)
    os.write(1, b"x" * 65536)
