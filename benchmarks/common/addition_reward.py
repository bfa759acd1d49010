"""The demo's reward with everything that a slot can ask a reward for: steps, criteria, candidates.

`score` is that of `examples/arithmetic/reward.py`: 1 for the right sum between the last `<answer>` tags.
"""

import re

CANDIDATES = 4
"""Answers of a completion that count as candidates."""


def grade(sample, item):
    text = sample["output_text"]
    answers = _answers(text)
    right, ones = _marks(answers[-1], item) if answers else (0.0, 0.0)
    return {
        "score": right,
        "steps": [*_columns(text, item), (right, len(text))],
        "criteria": {"tagged": float(bool(answers)), "ones": ones, "right": right},
        "candidates": [list(_marks(answer, item)) for answer in answers[:CANDIDATES]] or [[0.0, 0.0]],
    }


def ones(sample, item):
    """1 where the last digit is right."""
    answers = _answers(sample["output_text"])
    return _marks(answers[-1], item)[1] if answers else 0.0


def _answers(text):
    return [found.strip() for found in re.findall(r"<answer>(.*?)</answer>", text, re.DOTALL)]


def _marks(answer, item):
    """Whether the sum is right, and whether its last digit is."""
    expected = str(item["answer"])
    return float(answer == expected), float(answer[-1:] == expected[-1:])


def _columns(text, item):
    """1 or 0 for each column that is written down, in order, with the character at which it ends."""
    a, b = item["a"], item["b"]
    ones, carry = a % 10 + b % 10, (a % 10 + b % 10) // 10
    tens = a // 10 + b // 10 + carry
    expected = [f"{a % 10}+{b % 10}={ones}", f"{a // 10}+{b // 10}{'+1' if carry else ''}={tens}"]
    found = re.finditer(r"\d+(?:\+\d+)+=\d+", text.partition("<answer>")[0])
    return [
        (float(match.group() == wanted), match.end()) for match, wanted in zip(found, expected, strict=False)
    ]
