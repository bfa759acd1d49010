"""1 for the right sum between the last `<answer>` tags, 0 for anything else."""

import re


def grade(sample, item):
    found = re.findall(r"<answer>(.*?)</answer>", sample["output_text"], re.DOTALL)
    return float(bool(found) and found[-1].strip() == item["answer"])
