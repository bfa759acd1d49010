"""A rubric of three criteria, each of which a judge scores from 0 to 1.

The judge is a stub: rules in place of a model, so that the example needs no key and no network. With a judge of your
own, keep the rubric and put its reply in place of `stub_judge` (README.md).
"""

import re

RUBRIC = (
    {"name": "right", "points": 3, "question": "Is the answer between the <answer> tags right?"},
    {"name": "working", "points": 1, "question": "Does the completion show its working before the answer?"},
    {"name": "columns", "points": 1, "question": "Is every sum in the working right?"},
)


def stub_judge(criterion, text, item):
    """What a judge would reply about one criterion, from 0 to 1."""
    working = "".join(re.findall(r"<think>(.*?)</think>", text, re.DOTALL))
    if criterion == "right":
        answers = re.findall(r"<answer>(.*?)</answer>", text, re.DOTALL)
        return float(bool(answers) and answers[-1].strip() == str(item["answer"]))
    sums = re.findall(r"\d[\d+]*=\d+", working)
    if criterion == "working":
        return min(1.0, len(sums) / 2)
    correct = [sum(map(int, left.split("+"))) == int(result) for left, result in (s.split("=") for s in sums)]
    return sum(correct) / len(correct) if correct else 0.0


def grade(sample, item):
    text = sample["output_text"]
    criteria = {one["name"]: stub_judge(one["name"], text, item) for one in RUBRIC}
    points = sum(one["points"] * criteria[one["name"]] for one in RUBRIC)
    most = sum(one["points"] for one in RUBRIC)
    failed = [name for name, value in criteria.items() if value < 1]
    reason = f"{points:g} of {most} points" + (f"; not met: {', '.join(failed)}" if failed else "")
    return {"score": points / most, "criteria": criteria, "reason": reason}
