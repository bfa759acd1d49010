"""Two steps per completion: everything up to the last digit of the answer, and that digit.

The value of a step is 1 where its digits are right. `score` is 1 for the right sum.
"""

import re


def grade(sample, item):
    text, answer = sample["output_text"], item["answer"]
    found = list(re.finditer(r"<answer>(\d{2,})</answer>", text))
    if not found:
        return {"score": 0.0, "steps": [[0.0, len(text)]]}
    given, end = found[-1][1], found[-1].end(1)
    tens, ones = float(given[:-1] == answer[:-1]), float(given[-1] == answer[-1])
    return {"score": float(given == answer), "steps": [[tens, end - 1], [ones, end]]}
