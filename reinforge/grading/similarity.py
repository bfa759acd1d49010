"""Text similarities in [0, 1]: 1 for equal texts, 0 for nothing in common.

    fuzzy_match   rapidfuzz `ratio`: share of common characters, in order
    bleu          Papineni et al. 2002, to 4-grams, add-one smoothing above 1-grams (Lin & Och 2004)
    gleu          Wu et al. 2016: minimum of precision and recall over 1- to 4-grams
    rouge_1 … 5   Lin 2004: F1 of n-grams; rouge_l: of the longest common subsequence
    meteor        Banerjee & Lavie 2005 by NLTK; needs WordNet's data

Words are runs of letters and digits, lower-cased for ROUGE; for BLEU and GLEU also punctuation marks.
"""

import importlib.util
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache

from reinforge.grading.errors import MetricUnavailable

METRICS = (
    "fuzzy_match", "bleu", "gleu", "meteor", "rouge_1", "rouge_2", "rouge_3", "rouge_4", "rouge_5", "rouge_l",
)  # fmt: skip
_WORDS = re.compile(r"[^\W_]+")
_MARKS = re.compile(r"\w+|[^\w\s]")
_N = 4


def similarity(metric: str, text: str, reference: str) -> float:
    if (reason := unavailable(metric)) is not None:
        raise MetricUnavailable(reason)
    return _METRICS[metric](text, reference)


def unavailable(metric: str) -> str | None:
    """Why this machine cannot compute a metric, and what to do; None if it can."""
    if metric in ("fuzzy_match", "rouge_l") and importlib.util.find_spec("rapidfuzz") is None:
        return f"{metric} needs the package rapidfuzz, which comes with the platform"
    if metric == "meteor" and not _has_wordnet():
        return (
            "meteor needs NLTK and WordNet's data, which are not on this machine: use rouge_l, or install nltk "
            "and run `python -m nltk.downloader wordnet omw-1.4`"
        )
    return None


def _fuzzy_match(text: str, reference: str) -> float:
    from rapidfuzz import fuzz

    return float(fuzz.ratio(text, reference)) / 100


def _bleu(text: str, reference: str) -> float:
    hypothesis, target = _MARKS.findall(text), _MARKS.findall(reference)
    matches, _ = _overlap(hypothesis, target, 1)
    if not matches:
        return 1.0 if not hypothesis and not target else 0.0
    logs = 0.0
    for n in range(1, _N + 1):
        common, total = _overlap(hypothesis, target, n)[0], max(1, len(hypothesis) - n + 1)
        logs += math.log(common / total if n == 1 else (common + 1) / (total + 1)) / _N
    brevity = min(0.0, 1 - len(target) / len(hypothesis))
    return math.exp(brevity + logs)


def _gleu(text: str, reference: str) -> float:
    hypothesis, target = _MARKS.findall(text), _MARKS.findall(reference)
    if not hypothesis and not target:
        return 1.0
    matches = sum(_overlap(hypothesis, target, n)[0] for n in range(1, _N + 1))
    size = max(sum(max(0, len(tokens) - n + 1) for n in range(1, _N + 1)) for tokens in (hypothesis, target))
    return matches / size if size else 0.0


def _rouge(n: int) -> Callable[[str, str], float]:
    def score(text: str, reference: str) -> float:
        hypothesis, target = _words(text), _words(reference)
        matches, size = _overlap(hypothesis, target, n)
        if not size:
            return 1.0 if hypothesis == target else 0.0
        return 2 * matches / size

    return score


def _rouge_l(text: str, reference: str) -> float:
    from rapidfuzz.distance import LCSseq

    hypothesis, target = _words(text), _words(reference)
    if not hypothesis or not target:
        return 1.0 if hypothesis == target else 0.0
    return 2 * LCSseq.similarity(hypothesis, target) / (len(hypothesis) + len(target))


def _meteor(text: str, reference: str) -> float:
    from nltk.translate.meteor_score import meteor_score

    return float(meteor_score([_MARKS.findall(reference)], _MARKS.findall(text)))


def _words(text: str) -> list[str]:
    return _WORDS.findall(text.lower())


def _overlap(one: Sequence[str], other: Sequence[str], n: int) -> tuple[int, int]:
    first, second = (Counter(zip(*(tokens[i:] for i in range(n)), strict=False)) for tokens in (one, other))
    return (first & second).total(), first.total() + second.total()


@cache
def _has_wordnet() -> bool:
    if importlib.util.find_spec("nltk") is None:
        return False
    import nltk

    for place in ("corpora/wordnet.zip", "corpora/wordnet"):
        try:
            nltk.data.find(place)
        except LookupError:
            continue
        return True
    return False


_METRICS: dict[str, Callable[[str, str], float]] = {
    "fuzzy_match": _fuzzy_match,
    "bleu": _bleu,
    "gleu": _gleu,
    "meteor": _meteor,
    **{f"rouge_{n}": _rouge(n) for n in range(1, 6)},
    "rouge_l": _rouge_l,
}
