"""1 when the last number of the completion is the row's answer, within a tolerance, else 0.

Reads 1,234.5 and -3 and 2e-4; a percent sign or a unit after the number is ignored.
"""

import math
import re

RELATIVE, ABSOLUTE = 1e-4, 1e-9  # whichever allows more
NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:[eE][-+]?\d+)?")


def last_number(text):
    found = [each for each in NUMBER.findall(text) if re.search(r"\d", each)]
    return float(found[-1].replace(",", "")) if found else None


def grade(sample, item):
    given, expected = last_number(sample["output_text"]), last_number(str(item["answer"]))
    if expected is None:
        return None  # this row has no number to compare with: it leaves the statistics
    if given is None:
        return {"score": 0.0, "reason": "no number found"}
    close = math.isclose(given, expected, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return {"score": float(close), "reason": f"last number {given:g}, expected {expected:g}"}
