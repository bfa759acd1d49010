"""1 when the text between the last <answer> tags is the row's answer, else 0.

Nothing is paid for the way there: what the model writes before its answer is its own affair.
"""

import re


def grade(sample, item):
    found = re.findall(r"<answer>(.*?)</answer>", sample["output_text"], re.DOTALL)
    if not found:
        return {"score": 0.0, "reason": "no <answer>…</answer> found"}
    given, expected = found[-1].strip(), str(item["answer"]).strip()
    if given.casefold() != expected.casefold():
        return {"score": 0.0, "reason": f"answered {given[:40]!r}, expected {expected[:40]!r}"}
    return {"score": 1.0, "reason": "right"}
