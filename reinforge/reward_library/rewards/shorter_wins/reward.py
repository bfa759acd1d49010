"""Shorter right completions of a prompt get more; wrong ones get 0.

Granularity `group`, with TRL's signature: lists in, scores out, every dataset column as a list.
Lengths are compared within the group, so no limit has to be chosen.
"""

BONUS = 0.2  # between the shortest and the longest right completion of a group


def shorter_wins(prompts, completions, answer, **columns):
    texts = [text if isinstance(text, str) else text[-1]["content"] for text in completions]
    right = [answered(text) == str(expected).strip() for text, expected in zip(texts, answer, strict=True)]
    lengths = [len(text.encode()) for text, good in zip(texts, right, strict=True) if good]
    shortest, longest = min(lengths, default=0), max(lengths, default=0)
    spread = max(longest - shortest, 1)
    return [
        1 - BONUS * (len(text.encode()) - shortest) / spread if good else 0.0
        for text, good in zip(texts, right, strict=True)
    ]


def answered(text):
    """The only <answer> block after the thinking, or None."""
    visible = text.rpartition("</think>")[2]
    one = visible.count("<answer>") == visible.count("</answer>") == 1 and "<think>" not in visible
    return visible.partition("<answer>")[2].partition("</answer>")[0].strip() if one else None
