"""1 when the completion after its thinking matches a regular expression as a whole, else 0.

A row's `pattern` replaces the parameter. Digits and letters are ASCII, against look-alikes; `.`
does not match line ends.
"""

import regex  # as re, with a limit on its time

PATTERN = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"  # a date, where the row has no pattern
WHOLE = True  # False: it is enough that the text contains the form once, and once only
IGNORE_CASE = False  # capitals do not matter
SECONDS = 0.5  # a pattern that tries longer than this on a text does not fit


def grade(sample, item):
    text = sample["output_text"].rpartition("</think>")[2]
    if "<think>" in text:
        return {"score": 0.0, "reason": "the thinking never ends"}
    flags = regex.ASCII | (regex.IGNORECASE if IGNORE_CASE else 0)
    pattern = regex.compile(str(item.get("pattern") or PATTERN), flags)
    try:
        if WHOLE:
            fits = pattern.fullmatch(text.strip(), timeout=SECONDS) is not None
            return {
                "score": float(fits),
                "reason": "fits" if fits else f"does not fit {pattern.pattern[:80]}",
            }
        matches = sum(1 for match in pattern.finditer(text, timeout=SECONDS) if match.group())
    except TimeoutError:
        return {"score": 0.0, "reason": f"not matched within {SECONDS} s"}
    return {"score": float(matches == 1), "reason": f"found {matches} times, expected once"}
