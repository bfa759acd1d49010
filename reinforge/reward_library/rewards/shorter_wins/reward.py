"""Among the right completions of a prompt, the shorter ones get more; a wrong one gets 0.

Sees all completions of a prompt together (granularity `group`), in the signature that TRL uses: lists in, a list of
scores out, every column of the dataset as a list. What is short is decided by the group itself, so no length has to
be chosen, and a prompt that needs many words may take them.
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
    """The text of the one <answer> block after the thinking, or None."""
    visible = text.rpartition("</think>")[2]
    one = visible.count("<answer>") == visible.count("</answer>") == 1 and "<think>" not in visible
    return visible.partition("<answer>")[2].partition("</answer>")[0].strip() if one else None
