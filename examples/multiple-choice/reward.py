"""1 for the number of the right choice, 0.1 for the other choice's, 0 for anything else."""

import re

CHOICES = ("1", "2")


def grade(sample, item):
    answers = re.findall(r"<answer>(.*?)</answer>", sample["output_text"], re.DOTALL)
    choice = answers[-1].strip() if answers else ""
    if choice not in CHOICES:
        return {"score": 0.0, "reason": "not one of the choices"}
    right = choice == str(item["answer"])
    return {"score": 1.0 if right else 0.1, "reason": "right" if right else "the other choice"}
