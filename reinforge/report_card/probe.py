"""Probe of the starter model's arithmetic: sums that it may unlearn in a job with other questions or numbers."""

PHRASINGS = (
    "{a}+{b}=",
    "{a} + {b}",
    "{a} plus {b}",
    "What is {a}+{b}?",
    "How much is {a}+{b}?",
    "Calculate {a} + {b}.",
    "Add {a} and {b}",
    "What is the sum of {a} and {b}?",
)
"""Phrasings in the training text of the starter model."""
_PAIRS = ((3, 4), (9, 8), (7, 52), (46, 5), (23, 14), (38, 27), (61, 19), (47, 85))
REWARD = """\
import re


def grade(sample, item):
    text = sample["output_text"]
    tagged = re.findall(r"<answer>([^<]*)</answer>", text)
    numbers = re.findall(r"-?\\d+", tagged[-1] if tagged else text)
    return float(bool(numbers) and numbers[-1] == str(item["answer"]))
"""


def starter_rows() -> list[dict[str, str]]:
    """Rows of prompt and answer: every phrasing with sums of one and two digits, with and without a carry."""
    return [
        {"prompt": phrasing.format(a=a, b=b), "answer": str(a + b)}
        for phrasing in PHRASINGS
        for a, b in _PAIRS
    ]
