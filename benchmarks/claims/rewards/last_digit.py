"""0 to 1 by the last digit of the answer: 0 is best."""

import re


def grade(sample, item):
    found = re.findall(r"<answer>(\d+)</answer>", sample["output_text"])
    return 1.0 - int(found[-1][-1]) / 9 if found else 0.0
