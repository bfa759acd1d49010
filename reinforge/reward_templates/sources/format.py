"""How much of a fixed form the completion keeps: a <think> block, then one <answer> block, and nothing else.

Give it a small weight beside a reward for being right: a form is easy to keep, and pays without any answer.
"""

import re

WHOLE = re.compile(r"\s*<think>.+?</think>\s*<answer>.+?</answer>\s*", re.DOTALL)
TAGS = ("<think>", "</think>", "<answer>", "</answer>")


def grade(sample, item):
    text = sample["output_text"]
    parts = {tag.strip("<>"): float(text.count(tag) == 1) for tag in TAGS}
    whole = WHOLE.fullmatch(text) is not None and all(parts.values())
    # Half for the tags, half for the whole: a model that never keeps the form has steps to climb.
    score = 0.5 * sum(parts.values()) / len(parts) + 0.5 * whole
    missing = [tag for tag in TAGS if text.count(tag) != 1]
    reason = (
        "kept"
        if whole
        else f"not exactly once: {', '.join(missing)}"
        if missing
        else "text outside the blocks"
    )
    return {"score": score, "parts": parts, "reason": reason}
