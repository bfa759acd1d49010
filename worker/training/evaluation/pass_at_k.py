"""Unbiased pass@k, best@k and maj@k, estimated from n ≥ k completions of a prompt."""

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random

SUBSETS = 1000
RESAMPLES = 1000


def pass_at_k(n: int, right: int, k: int) -> float:
    """Probability that one or more of k completions are right: 1 - C(n - right, k) / C(n, k) (Chen et al.
    2021, eq. 1).
    """
    return 1 - math.comb(n - right, k) / math.comb(n, k)


def best_at_k(rewards: Sequence[float], k: int) -> float:
    """Expected maximum of k of n rewards: Σ_i C(i - 1, k - 1)·r_i / C(n, k), r_i the i-th smallest."""
    n = len(rewards)
    weighted = sum(math.comb(place, k - 1) * value for place, value in enumerate(sorted(rewards)))
    return weighted / math.comb(n, k)


def maj_at_k(answers: Sequence[str | None], right: Sequence[bool], k: int) -> float:
    """Probability that the most frequent answer among k is right; ties go to the first."""
    n = len(answers)
    if math.comb(n, k) <= SUBSETS:
        choices = list(itertools.combinations(range(n), k))
    else:
        random = Random(f"{n}/{k}")
        choices = [tuple(sorted(random.sample(range(n), k))) for _ in range(SUBSETS)]
    return sum(_majority_is_right(choice, answers, right) for choice in choices) / len(choices)


def _majority_is_right(choice: Sequence[int], answers: Sequence[str | None], right: Sequence[bool]) -> bool:
    counted = Counter(answers[place] for place in choice if answers[place] is not None)
    if not counted:
        return False
    (winner, _), *_ = counted.most_common(1)
    return next(right[place] for place in choice if answers[place] == winner)


def interval(values: Sequence[float], *, level: float = 0.95) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean over prompts; deterministic."""
    random = Random(len(values))
    means = sorted(math.fsum(random.choices(values, k=len(values))) / len(values) for _ in range(RESAMPLES))
    outside = (1 - level) / 2
    return means[int(outside * RESAMPLES)], means[min(int((1 - outside) * RESAMPLES), RESAMPLES - 1)]


def sizes(samples: int) -> list[int]:
    powers = [1 << power for power in range(samples.bit_length()) if 1 << power < samples]
    return [*powers, samples]


def _last(pattern: str) -> Callable[[str], str | None]:
    # pattern: those of ANSWERS below, which end at the next opening
    compiled = re.compile(pattern, re.DOTALL)

    def find(text: str) -> str | None:
        matches = compiled.findall(text)
        return matches[-1].strip() if matches else None

    return find


def _last_line(text: str) -> str | None:
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else None


ANSWERS: dict[str, Callable[[str], str | None]] = {
    "boxed": _last(r"\\boxed\{([^{}]*)\}"),
    "tagged": _last(r"<answer>((?:(?!<answer>).)*?)</answer>"),
    "last_number": _last(r"-?\d+(?:\.\d+)?"),
    "last_line": _last_line,
}
