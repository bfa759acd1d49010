"""1 when the completion's only <answer> is the row's answer, else 0.

Answers in the thinking are ignored. Two answers get 0: otherwise a model learns to name them
all.
"""

import unicodedata

TAG = "answer"  # the answer stands between <answer> and </answer>
IGNORE_CASE = True  # Paris and paris are the same
LONGEST = 200  # characters of an answer, spaces included


def answer_in(text):
    """(the answer, None) or (None, why there is none)."""
    visible = text.rpartition("</think>")[2]
    if "<think>" in visible:
        return None, "the thinking never ends"
    opening, closing = f"<{TAG}>", f"</{TAG}>"
    counts = visible.count(opening), visible.count(closing)
    if counts != (1, 1):
        return None, f"{opening} and {closing} stand there {counts[0]} and {counts[1]} times, not once each"
    answer = visible.partition(opening)[2].partition(closing)[0]
    if len(answer) > LONGEST:
        return None, f"an answer of {len(answer)} characters, at most {LONGEST}"
    return answer, None


def same(text):
    """Normalises accents and spaces for the comparison."""
    text = " ".join(unicodedata.normalize("NFC", str(text)).split())
    return text.casefold() if IGNORE_CASE else text


def grade(sample, item):
    answer, problem = answer_in(sample["output_text"])
    if problem:
        return {"score": 0.0, "reason": problem}
    accepted = item["answer"] if isinstance(item["answer"], list) else [item["answer"]]
    accepted = [same(text) for text in accepted if same(text)]
    if not accepted:
        return None  # this row has no answer to compare with
    right = same(answer) in accepted
    reason = "right" if right else f"answered {answer.strip()[:40]!r}, expected {accepted[0][:40]!r}"
    return {"score": float(right), "reason": reason}
