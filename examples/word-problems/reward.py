"""1 for the right number between the last `<answer>` tags, else 0."""

import re


def grade(sample, item):
    answers = re.findall(r"<answer>(.*?)</answer>", sample["output_text"], re.DOTALL)
    if not answers:
        return {"score": 0.0, "reason": "no <answer> in the completion"}
    answer, expected = answers[-1].strip(), str(item["answer"])
    if answer != expected:
        return {"score": 0.0, "reason": f"{answer[:20]} in place of {expected}"}
    return {"score": 1.0, "reason": "right"}
