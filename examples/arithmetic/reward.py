"""Accuracy only: 1 for the right sum between the last `<answer>` tags, 0 for anything else.

Nothing is paid for working the sum out, and nothing for being short: what the model writes before its
answer is its own affair.
"""

import re


def grade(sample, item):
    answers = re.findall(r"<answer>(.*?)</answer>", sample["output_text"], re.DOTALL)
    if not answers:
        return {"score": 0.0, "reason": "no <answer> found"}
    answer, expected = answers[-1].strip(), str(item["answer"])
    if answer != expected:
        return {"score": 0.0, "reason": f"wrong sum: {answer[:20]}, expected {expected}"}
    return {"score": 1.0, "reason": "right"}
