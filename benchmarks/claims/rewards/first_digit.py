"""0 to 100 by the first digit of the answer, 9 is best; and up to 50 more or less by chance, which nobody can learn.

A hundred times as large as `last_digit.py`. Without the chance, drawn from all completions of the prompt and
the place among them, it would stop varying once it is learned, and leave the field to the other.
"""

import re
import zlib


def grade(prompts, completions, **columns):
    texts = [messages[-1]["content"] for messages in completions]
    together = "/".join(texts)
    return [
        digit(text) + 100.0 * zlib.crc32(f"{place}/{together}".encode()) / 0xFFFFFFFF - 50.0
        for place, text in enumerate(texts)
    ]


def digit(text):
    found = re.findall(r"<answer>(\d+)</answer>", text)
    return 100.0 * int(found[-1][0]) / 9 if found else 0.0
