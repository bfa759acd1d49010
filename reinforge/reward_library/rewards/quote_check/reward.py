"""Share of the completion's quotes that stand word for word in the row's `source`.

Quotes are between “ and ”, " and ", or <quote> and </quote>, and have several words. Repeated
quotes count once; quotes of most of the source score 0.
"""

import re

LEAST_QUOTES = 1  # fewer get a smaller share
LEAST_WORDS = 4  # of a quote; a shorter one proves nothing and counts as wrong
MOST_WORDS = 60  # of a quote; a longer one is copying
MOST_COPIED = 0.5  # share of the source's words that all quotes may have together
QUOTE = re.compile(r"<quote>([^<]*)</quote>|“([^“”]*)”|\"([^\"]*)\"")


def plain(text):
    return " ".join(text.split())


def grade(sample, item):
    source = plain(str(item["source"]))
    if not source:
        return None  # nothing to quote from
    visible = sample["output_text"].rpartition("</think>")[2]
    if "<think>" in visible:
        return {"score": 0.0, "reason": "the thinking never ends"}
    quotes = [plain(next((group for group in groups if group), "")) for groups in QUOTE.findall(visible)]
    if not quotes:
        return {"score": 0.0, "reason": "no quotes"}
    good, problems = set(), []
    for quote in quotes:
        words = len(re.findall(r"\w+", quote))
        if not LEAST_WORDS <= words <= MOST_WORDS:
            problems.append(f"{words} words: {quote[:40]!r}")
        elif any(quote in other for other in good):
            problems.append(f"twice: {quote[:40]!r}")
        elif not re.search(rf"(?<!\w){re.escape(quote)}(?!\w)", source):
            problems.append(f"not in the source: {quote[:60]!r}")
        else:
            good.add(quote)
    copied = sum(len(quote) for quote in good) / len(source)
    if copied > MOST_COPIED:
        return {"score": 0.0, "reason": f"{copied:.0%} of the source is copied"}
    score = len(good) / max(len(quotes), LEAST_QUOTES)
    return {"score": score, "reason": f"{len(good)} of {len(quotes)} quotes hold; {'; '.join(problems[:3])}"}
