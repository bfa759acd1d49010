"""1 for a completion of a wanted number of words, falling off gently on both sides.

Use it beside a reward for quality and with a small weight, such as 0.1: alone it is content with any words. The
slope is gentle on purpose; a cliff teaches a model to stop in the middle of a sentence.
"""

import math

LOW, HIGH = 40, 80  # words that are all equally good
SOFTNESS = 0.5  # at half or one and a half times the range's edge the score is about 0.37


def grade(sample, item):
    words = len(sample["output_text"].split())
    low, high = item.get("min_words") or LOW, item.get("max_words") or HIGH
    edge = low if words < low else high
    outside = 0.0 if low <= words <= high else abs(words - edge) / edge
    return {
        "score": math.exp(-((outside / SOFTNESS) ** 2)),
        "reason": f"{words} words, wanted {low} to {high}",
    }
