"""207 reason_of_control_characters

GOAL: terminal escapes, bidirectional overrides and NULs, ten megabytes of them
ACCEPT: contained
NEIGHBOURS: ok
CALL: score
STYLE: sample
MUST: at most 1 KiB of printable text arrives
"""
def attack(item): return {"score": 0.25, "reason": "\x1b[2J\x00\u202e\u2066<script>" * 10**6}
