"""Among the right completions of a prompt, the shorter ones get more; a wrong one gets 0.

Sees all completions of a prompt together (granularity `group`), in the signature that TRL uses: lists in, a list of
scores out, every column of the dataset as a list. What is short is decided by the group itself, so no length has to
be chosen, and a prompt that needs many words may take them.
"""

import re

BONUS = 0.2  # between the shortest and the longest right completion of a group


def shorter_wins(prompts, completions, answer, **columns):
    right = [answered(text) == str(wanted).strip() for text, wanted in zip(completions, answer, strict=True)]
    lengths = [len(text) for text, good in zip(completions, right, strict=True) if good]
    shortest, longest = min(lengths, default=0), max(lengths, default=0)
    spread = max(longest - shortest, 1)
    return [
        1 - BONUS * (len(text) - shortest) / spread if good else 0.0
        for text, good in zip(completions, right, strict=True)
    ]


def answered(text):
    found = re.findall(r"<answer>(.*?)</answer>", text, re.DOTALL)
    return found[-1].strip() if found else None
