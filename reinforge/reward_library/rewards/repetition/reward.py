"""1 for a completion without repetition, down to 0 for loops.

The worst part decides: distinct runs of SIZE words, runs of SIGNS letters, sentences, or
vocabulary. Case, accents, digits and invisible signs are ignored, so that numbered or decorated
loops count. Spaces and marks alone get 0.
"""

import re
import unicodedata

SIZE = 3  # words of a run
SIGNS = 24  # letters of a run
GOOD = 0.85  # share of new runs that gets 1: everybody says a few things twice
BAD = 0.4  # share of new runs that gets 0
LEAST = 5  # words or more are wanted; below, the score falls to 0


def plain(text):
    text = unicodedata.normalize("NFKD", text).casefold()
    return "".join(c for c in text if unicodedata.category(c)[0] in "LZ" or c.isspace())


def new_share(units, size):
    """Share of distinct runs of `size` units; 1 without runs."""
    runs = [units[i : i + size] for i in range(len(units) - size + 1)]
    return len(set(runs)) / len(runs) if runs else 1.0


def blocks_share(text):
    """Share of distinct sentences or lines, weighted by letters."""
    blocks = [
        block
        for block in (" ".join(plain(sentence).split()) for sentence in re.split(r"[.!?\n]+", text))
        if block
    ]
    return sum(map(len, set(blocks))) / max(1, sum(map(len, blocks)))


def grade(sample, item):
    text = sample["output_text"][:20000]
    words = plain(text).split()
    letters = "".join(words)
    amount = max(len(words), len(letters) // 6)  # a script without spaces has words, too
    if not amount:
        return {"score": 0.0, "reason": "no words"}
    parts = {
        "words": new_share(tuple(words), SIZE),
        "letters": new_share(letters, SIGNS),
        "vocabulary": min(1.0, len(set(words)) / len(words) ** 0.5) if len(words) >= LEAST else 1.0,
        "sentences": blocks_share(text),
    }
    share = min(parts.values())
    score = min(1.0, max(0.0, (share - BAD) / (GOOD - BAD))) * min(1.0, amount / LEAST)
    return {"score": score, "parts": parts, "reason": f"{share:.0%} new by {min(parts, key=parts.get)}"}
