"""1 for the right sum given at once; a working never counts, right or wrong."""

import re


def grade(sample, item):
    text = sample["output_text"]
    found = re.findall(r"<answer>(.*?)</answer>", text, re.DOTALL)
    return float(bool(found) and "<think>" not in text and found[-1].strip() == item["answer"])
