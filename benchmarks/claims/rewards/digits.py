"""The digits of the answer are candidates: 0 and 1 are each the best in one respect, 5 is fair in both.

All three are among those that the starter model writes most often, so that none of them has to be stumbled upon.

Without `candidates` it is the best candidate's mean over both respects, for which 5 is the best there is.
"""

import re

SCORES = {"0": [1.0, 0.0], "1": [0.0, 1.0], "5": [0.6, 0.6]}
OTHERS = [0.2, 0.2]


def grade(sample, item):
    found = re.findall(r"<answer>(\d+)</answer>", sample["output_text"])
    candidates = [SCORES.get(digit, OTHERS) for digit in found[-1]] if found else [[0.0, 0.0]]
    return {"score": max(sum(each) / 2 for each in candidates), "candidates": candidates[:8]}
