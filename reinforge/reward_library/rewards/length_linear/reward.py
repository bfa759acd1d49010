"""1 up to FREE tokens, then falling to 0 at MOST; too short gets less as well.

Give it a small weight beside a correctness reward, or gate it by one: alone it accepts any
words. Tokens are estimated at four bytes, so that no spelling looks shorter.
"""

BYTES_PER_TOKEN = 4  # about right for English and most tokenizers
LEAST = 10  # tokens; from here to 0 the score falls to 0
FREE = 200  # tokens that cost nothing
MOST = 400  # tokens that cost everything


def grade(sample, item):
    tokens = len(sample["output_text"].encode()) / BYTES_PER_TOKEN
    free, most = item.get("free_tokens") or FREE, item.get("most_tokens") or MOST
    visible_tokens = (
        len("".join(sample["output_text"].split()).encode()) / BYTES_PER_TOKEN
    )  # spaces say nothing
    enough = min(1.0, visible_tokens / LEAST) if LEAST else 1.0
    left = min(1.0, max(0.0, (most - tokens) / (most - free)))
    return {
        "score": min(enough, left),
        "reason": f"about {tokens:.0f} tokens; {free} cost nothing, {most} everything",
    }
