"""Penalty near the limit: 0, then over the last quarter down to -1 at the limit and beyond.

DAPO's soft punishment of overlong completions (Yu et al. 2025); add it to a correctness reward.
Uses the sample's `completion_tokens`, or else estimates tokens at four bytes.
"""

BYTES_PER_TOKEN = 4  # about right for English and most tokenizers
LIMIT = 512  # tokens; set it to the job's max_completion_tokens
CACHE = 0.25  # share of the limit, at its end, in which the punishment grows


def grade(sample, item):
    tokens = sample.get("completion_tokens") or len(sample["output_text"].encode()) / BYTES_PER_TOKEN
    limit = item.get("token_limit") or LIMIT
    cache = CACHE * limit
    over = tokens - (limit - cache)
    score = max(-1.0, min(0.0, -over / cache))
    return {
        "score": score,
        "reason": f"about {tokens:.0f} tokens of {limit}, punished from {limit - cache:.0f}",
    }
