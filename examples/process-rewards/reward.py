"""One number per step of the working, and one for the answer.

A step is a column such as `7+5=12`; it ends where its text ends. Its number is 1 if the column is right and adds the
digits of the prompt, else 0. Advantage `process` gives each token the steps at or after it.
"""

import re

COLUMN = re.compile(r"(\d)\+(\d)(\+1)?=(\d+)")
ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)


def columns_of(prompt):
    """The two columns of a+b: digits, carry and result."""
    a, b = (int(number) for number in re.findall(r"\d+", prompt)[:2])
    ones = a % 10 + b % 10
    carry = int(ones >= 10)
    return [(a % 10, b % 10, 0, ones), (a // 10, b // 10, carry, a // 10 + b // 10 + carry)]


def grade(sample, item):
    text = sample["output_text"]
    expected = columns_of(item["prompt"])
    steps = []
    for column, right in zip(COLUMN.finditer(text), expected, strict=False):
        first, second, carry, result = column.groups()
        steps.append([float((int(first), int(second), int(bool(carry)), int(result)) == right), column.end()])
    answers = list(ANSWER.finditer(text))
    right = bool(answers) and answers[-1].group(1).strip() == str(item["answer"])
    steps.append([float(right), len(text)])
    reason = f"{sum(score for score, _ in steps):.0f} of {len(steps)} steps right"
    return {"score": float(right), "steps": steps, "reason": reason}
