"""Rows with an answer are sums, 1 for the right one; the others ask for sevens: their share of the answer's digits."""

import re


def grade(sample, item):
    found = re.findall(r"<answer>(.*?)</answer>", sample["output_text"], re.DOTALL)
    given = found[-1].strip() if found else ""
    if item["answer"]:
        return float(given == item["answer"])
    return given.count("7") / len(given) if given else 0.0
