"""Share of the points of the row's `rubric` that the completion gets.

Criteria are {"name", "points", and one check}; faults have negative points. Checks: `contains`
(one or more texts, all as whole words), `any_of`, `pattern` (regular expression), `most_words`,
and `judge` (a declared judge's score from 0 to 1).
"""

import json

import regex

LEAST_WORDS = 5  # a shorter completion meets no criterion
MOST_WORDS = 400  # a longer one gets 0: a text of everything meets everything


def has(text, phrase):
    return regex.search(rf"(?<!\w){regex.escape(phrase.casefold())}(?!\w)", text) is not None


def met(criterion, text, judges):
    """How far a criterion holds, 0 to 1; None if its judge failed."""
    if "judge" in criterion:
        result = judges.get(criterion["judge"])
        result = result.get("score") if isinstance(result, dict) else result
        return None if result is None else min(1.0, max(0.0, float(result)))
    if "contains" in criterion:
        phrases = criterion["contains"]
        return float(
            all(has(text, phrase) for phrase in ([phrases] if isinstance(phrases, str) else phrases))
        )
    if "any_of" in criterion:
        return float(any(has(text, phrase) for phrase in criterion["any_of"]))
    if "pattern" in criterion:
        return float(regex.search(criterion["pattern"], text, regex.IGNORECASE, timeout=0.2) is not None)
    if "most_words" in criterion:
        return float(len(text.split()) <= criterion["most_words"])
    raise ValueError(f"the criterion {criterion.get('name')!r} has no check")


def grade(sample, item):
    rubric = json.loads(item["rubric"]) if isinstance(item["rubric"], str) else item["rubric"]
    most = sum(criterion["points"] for criterion in rubric if criterion["points"] > 0)
    if not most:
        return None  # nothing can be had
    visible = sample["output_text"].rpartition("</think>")[2].casefold()
    words = [] if "<think>" in visible else visible.split()
    if not LEAST_WORDS <= len(words) <= MOST_WORDS or len(visible) > 20 * MOST_WORDS:
        return {
            "score": 0.0,
            "reason": f"{len(words)} words outside of the thinking, {LEAST_WORDS} to {MOST_WORDS} are read",
        }
    text = " ".join(words)
    if len(set(words)) < len(words) ** 0.5:
        return {"score": 0.0, "reason": "the same words again and again"}
    results = {criterion["name"]: met(criterion, text, sample["judges"]) for criterion in rubric}
    if any(result is None for result in results.values()):
        return None  # a judge gave nothing
    points = sum(criterion["points"] * results[criterion["name"]] for criterion in rubric)
    failed = [c["name"] for c in rubric if (results[c["name"]] > 0.5) != (c["points"] > 0)]
    reason = f"{points:g} of {most:g} points" + (
        f"; not so good: {', '.join(failed)}"[:300] if failed else ""
    )
    return {"score": min(1.0, max(0.0, points / most)), "criteria": results, "reason": reason}
