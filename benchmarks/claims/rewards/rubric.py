"""Twelve criteria: one that matters, three met by all, two by none, and six that one completion in twenty misses.

The six depend on a hash of what was written: they stand for saturated criteria that a judge marks with some noise.
"""

import re
import zlib


def grade(sample, item):
    text = sample["output_text"]
    found = re.findall(r"<answer>(.*?)</answer>", text, re.DOTALL)
    right = float(bool(found) and found[-1].strip() == item["answer"])
    criteria = {
        "right": right,
        "short_enough": float(len(text) < 500),
        "one_paragraph": float("\n\n" not in text),
        "polite": float("stupid" not in text),
        "names_the_unit": float("apples" in text),
        "explains_in_words": float("because" in text),
    }
    for number in range(6):
        drawn = zlib.crc32(f"{number}/{item['answer']}/{text}".encode())
        criteria[f"style_{number}"] = float(drawn % 20 > 0)
    score = sum(criteria.values()) / len(criteria)
    return {"score": score, "criteria": criteria, "parts": {"right": right}}
