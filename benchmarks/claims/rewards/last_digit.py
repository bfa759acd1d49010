"""0 to 1 by the last digit of the answer: 5 is best."""

import re


def grade(sample, item):
    found = re.findall(r"<answer>(\d+)</answer>", sample["output_text"])
    return 1.0 - abs(int(found[-1][-1]) - 5) / 5 if found else 0.0
