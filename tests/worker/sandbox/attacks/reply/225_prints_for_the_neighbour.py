"""225 prints_for_the_neighbour

GOAL: write into the prints of another row, then past all windows
ACCEPT: contained, exception, exited, bad_value, crashed, output_flood
NEIGHBOURS: own-call-may-change
CALL: score
STYLE: sample
MUST: prints are bounded; nothing but this call's own is touched
"""
import sys
def attack(item):
    try:
        report = sys.stdout.buffer._report
        report.begin(2, 2)
        report._kept = -5000
    except Exception:
        pass
    print("A" * 9000)
    print("\x1b]0;title\x07\x00" * 500)
    return 0.25
