"""1 when the completion's only <answer> chooses the right option and no other, else 0.

The answer is a letter, as in B, (B), B. or **B**, optionally with its option's text. The row's
`answer` is the letter, the option's number from 0, or its text; the optional `choices` holds the texts.
"""

import re

LETTERS = "ABCDEFGHIJ"  # of the options, in order
TEXT_ALONE = True  # the text of an option counts without its letter


def spelled(text):
    return " ".join(str(text).split()).casefold().rstrip(".")


def chosen(answer, choices):
    """The letter that an answer chooses; None if not exactly one."""
    match = re.fullmatch(r"(\*\*|\()?([A-Z])(\*\*|\))?([.:)]?)(?:\s+(.+))?", answer, re.DOTALL | re.ASCII)
    if match and (match[1], match[3]) in ((None, None), ("**", "**"), ("(", ")"), (None, ")")):
        letter, text = match[2], match[5]
        position = LETTERS.find(letter)
        exists = 0 <= position < (len(choices) or len(LETTERS))
        agrees = text is None or (choices and exists and spelled(text) == spelled(choices[position]))
        return letter if exists and agrees else None
    same = [
        letter for letter, text in zip(LETTERS, choices, strict=False) if spelled(text) == spelled(answer)
    ]
    return same[0] if TEXT_ALONE and len(same) == 1 else None


def right_letter(item, choices):
    answer = item["answer"]
    if isinstance(answer, int):
        return LETTERS[answer] if 0 <= answer < len(LETTERS) else None
    return chosen(str(answer).strip(), choices)


def grade(sample, item):
    choices = item.get("choices") or []
    right = right_letter(item, choices)
    if right is None:
        return None  # this row does not say which option is right
    visible = sample["output_text"].rpartition("</think>")[2]
    if visible.count("<answer>") != 1 or visible.count("</answer>") != 1 or "<think>" in visible:
        return {"score": 0.0, "reason": "not exactly one <answer> block after the thinking"}
    answer = visible.partition("<answer>")[2].partition("</answer>")[0]
    letter = chosen(answer.strip(), choices) if len(answer) < 1000 else None
    if letter is None:
        return {"score": 0.0, "reason": f"not exactly one option: {answer.strip()[:60]!r}"}
    return {"score": float(letter == right), "reason": f"chose {letter}, right is {right}"}
