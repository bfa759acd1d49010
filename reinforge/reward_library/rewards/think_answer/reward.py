"""1 for one <think> block followed by one <answer> block, both with content, else 0.

Give it a small weight beside a correctness reward: the form alone is easy.
"""

import re
import unicodedata

THINK = "think"  # the tag of the thought
ANSWER = "answer"  # the tag of the answer
LEAST_THOUGHT = 20  # letters and digits of the thought, so that an empty one does not pay
FOR_TAGS = 0.0  # what the four tags, once each and in order, get with text around or nothing inside
OPENED = False  # True: the chat template has written <think> already


def substance(text):
    """Number of letters and digits; longer runs of one character count once."""
    return len(re.sub(r"(.)\1{3,}", r"\1", "".join(c for c in text if unicodedata.category(c)[0] in "LN")))


def grade(sample, item):
    text = f"<{THINK}>{sample['output_text']}" if OPENED else sample["output_text"]
    tags = [f"<{THINK}>", f"</{THINK}>", f"<{ANSWER}>", f"</{ANSWER}>"]
    parts = {tag.strip("<>"): float(text.count(tag) == 1) for tag in tags}
    if not all(parts.values()):
        missing = ", ".join(tag for tag in tags if text.count(tag) != 1)
        return {"score": 0.0, "parts": parts, "reason": f"not exactly once: {missing}"}
    places = [text.index(tag) for tag in tags]
    if places != sorted(places):
        return {"score": 0.0, "parts": parts, "reason": "the tags are in another order"}
    before, rest = text.split(tags[0])
    thought, rest = rest.split(tags[1])
    between, rest = rest.split(tags[2])
    answer, after = rest.split(tags[3])
    if (before + between + after).strip():
        return {"score": FOR_TAGS, "parts": parts, "reason": "text outside of the blocks"}
    if substance(thought) < LEAST_THOUGHT or substance(answer) < 1:
        return {"score": FOR_TAGS, "parts": parts, "reason": "a block with nothing in it"}
    return {"score": 1.0, "parts": parts, "reason": "kept"}
