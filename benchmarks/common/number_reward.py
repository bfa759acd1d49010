"""1 where the last number of a completion is the answer, as GSM8K is scored; else 0."""

import re


def grade(sample, item):
    numbers = re.findall(r"-?\d[\d,]*(?:\.\d+)?", sample["output_text"])
    if not numbers:
        return {"score": 0.0, "reason": "no number"}
    number = numbers[-1].replace(",", "").rstrip(".")
    return {"score": float(number == str(item["answer"])), "reason": number}
