"""Is the completion a JSON object with the keys that are wanted, of the right types?

Change WANTED to what your program reads. A ```json fence around the object is taken off.
"""

import json
import re

WANTED = {"name": str, "quantity": int, "tags": list}


def grade(sample, item):
    text = re.sub(r"^\s*```(?:json)?\s*|\s*```\s*$", "", sample["output_text"])
    try:
        value = json.loads(text)
    except ValueError as error:
        return {"score": 0.0, "parts": {"valid": 0.0}, "reason": f"not JSON: {error}"[:200]}
    if not isinstance(value, dict):
        return {
            "score": 0.1,
            "parts": {"valid": 1.0},
            "reason": f"JSON, but {type(value).__name__}, not an object",
        }
    good = [key for key, kind in WANTED.items() if type(value.get(key)) is kind]
    extra = sorted(set(value) - set(WANTED))
    parts = {"valid": 1.0, "keys": len(good) / len(WANTED), "nothing_else": float(not extra)}
    wrong = [key for key in WANTED if key not in good]
    reason = "; ".join(
        text for text in (
            f"missing or of another type: {', '.join(wrong)}" if wrong else "",
            f"not asked for: {', '.join(extra)[:100]}" if extra else "",
        ) if text
    )  # fmt: skip
    score = 0.2 * parts["valid"] + 0.6 * parts["keys"] + 0.2 * parts["nothing_else"]
    return {"score": score, "parts": parts, "reason": reason or "as wanted"}
