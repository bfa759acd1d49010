"""Several things at once, each a named part with a weight: right, in the wanted form, brief.

The parts are charted one by one, so that it shows which of them a model learns. Being brief pays only for right
answers: otherwise saying nothing would.
"""

import re

WEIGHTS = {"right": 0.8, "form": 0.1, "brief": 0.1}
MOST_WORDS = 100


def grade(sample, item):
    text = sample["output_text"]
    found = re.findall(r"<answer>(.*?)</answer>", text, re.DOTALL)
    right = bool(found) and found[-1].strip() == str(item["answer"]).strip()
    words = len(text.split())
    parts = {
        "right": float(right),
        "form": float(len(found) == 1 and text.rstrip().endswith("</answer>")),
        "brief": max(0.0, 1 - words / MOST_WORDS) if right else 0.0,
    }
    score = sum(WEIGHTS[name] * value for name, value in parts.items())
    return {"score": score, "parts": parts, "reason": f"{'right' if right else 'wrong'} in {words} words"}
