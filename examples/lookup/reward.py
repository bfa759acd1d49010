"""1 for the right name between the last answer tags, 0 otherwise. Look-ups are not paid for."""

import re

ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)


def grade(sample, item):
    answers = ANSWER.findall(sample["output_text"])
    return {"score": float(bool(answers) and answers[-1].strip() == item["answer"])}
