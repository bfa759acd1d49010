"""0 to 10 by the first digit of the answer: 9 is best. Ten times as large as `last_digit.py`, and as easy."""

import re


def grade(sample, item):
    found = re.findall(r"<answer>(\d+)</answer>", sample["output_text"])
    return 10.0 * int(found[-1][0]) / 9 if found else 0.0
