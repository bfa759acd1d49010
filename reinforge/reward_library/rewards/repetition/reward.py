"""How little a completion repeats itself: 1 for text that does not, 0 for loops.

Counts which share of the runs of SIZE words, and of SIGNS letters, is new. Words are compared without case, accents,
digits and invisible signs, so that a numbered or decorated loop is a loop. It takes the worse of the two shares; what
is written without spaces is judged by its letters. Nothing but spaces or marks gets 0.
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
    """Distinct runs of `size` units by all such runs; 1 where there is none."""
    runs = [units[i : i + size] for i in range(len(units) - size + 1)]
    return len(set(runs)) / len(runs) if runs else 1.0


def blocks_share(text):
    """Distinct sentences, or lines, by all of them, weighed by their letters."""
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
