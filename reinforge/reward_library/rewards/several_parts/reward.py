"""Weighted sum of named parts: right, in the wanted form, brief.

Each part is charted. Form and brevity pay only for right answers: otherwise an empty text would
be rewarded.
"""

WEIGHTS = {"right": 0.8, "form": 0.1, "brief": 0.1}  # of the parts; they add up to the best score
MOST_WORDS = 100  # a right answer of so many words is not brief any more
LONGEST = 200  # characters of an answer


def grade(sample, item):
    text = sample["output_text"]
    visible = text.rpartition("</think>")[2]
    one = visible.count("<answer>") == visible.count("</answer>") == 1 and "<think>" not in visible
    answer = visible.partition("<answer>")[2].partition("</answer>")[0] if one else ""
    right = one and len(answer) <= LONGEST and answer.strip() == str(item["answer"]).strip()
    words = max(len(text.split()), len(text) // 12)  # text without spaces is not brief, nor are spaces
    parts = {
        "right": float(right),
        "form": float(right and visible.rstrip().endswith("</answer>")),
        "brief": max(0.0, 1 - words / MOST_WORDS) if right else 0.0,
    }
    score = sum(WEIGHTS[name] * value for name, value in parts.items())
    return {"score": score, "parts": parts, "reason": f"{'right' if right else 'wrong'} in {words} words"}
