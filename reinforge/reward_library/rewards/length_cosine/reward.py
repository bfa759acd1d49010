"""Rewards length along a cosine: right answers get less the longer they are, wrong ones lose less.

After Yeo et al. 2025 (long chain of thought). A completion at the limit gets OVER. Tokens are
estimated at four bytes.
"""

import math

RIGHT_SHORT = 1.0  # a right answer without a word too many
RIGHT_LONG = 0.5  # a right answer at the limit
WRONG_SHORT = -1.0  # a wrong answer at once
WRONG_LONG = -0.5  # a wrong answer at the limit
OVER = -1.0  # the limit is reached
LIMIT = 512  # tokens; set it to the job's max_completion_tokens
BYTES_PER_TOKEN = 4  # about right for English and most tokenizers


def answer_in(text):
    """The only <answer> block after the thinking, or None."""
    visible = text.rpartition("</think>")[2]
    one = visible.count("<answer>") == visible.count("</answer>") == 1 and "<think>" not in visible
    return visible.partition("<answer>")[2].partition("</answer>")[0] if one else None


def grade(sample, item):
    text = sample["output_text"]
    answer = answer_in(text)
    right = answer is not None and answer.strip().casefold() == str(item["answer"]).strip().casefold()
    tokens = len(text.encode()) / BYTES_PER_TOKEN
    if tokens >= LIMIT:
        return {"score": OVER, "reason": f"about {tokens:.0f} tokens, the limit is {LIMIT}"}
    short, long = (RIGHT_SHORT, RIGHT_LONG) if right else (WRONG_SHORT, WRONG_LONG)
    score = long + (short - long) * (1 + math.cos(math.pi * tokens / LIMIT)) / 2
    return {"score": score, "reason": f"{'right' if right else 'wrong'} in about {tokens:.0f} tokens"}
