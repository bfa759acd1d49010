"""Held-out completions of a report card, and statistics of a row's completions."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean


@dataclass(slots=True)
class CardSample:
    row: int
    prompt_hash: str
    sample: int
    reward: float | None
    tokens: int
    finish_reason: str
    text: str
    error: str | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    """Values of rewards, by `NAME`, and of their parts, by `NAME/part/PART`."""
    slice: str | None = None
    surprisal: float | None = None
    """Mean negative log-probability of the tokens, in nat."""
    score_ms: float | None = None
    prompt: str | None = None
    answer: str | None = None
    right: bool | None = None
    """Whether the final answer equals the row's answer."""
    digits: int = 0
    repetition: float = 0.0

    @property
    def key(self) -> str:
        """Key of the row, equal in all jobs with the same dataset."""
        return f"{self.row}:{self.prompt_hash}"


Rows = dict[str, list[CardSample]]
Statistic = Callable[[Sequence[CardSample]], float | None]


def by_row(samples: Sequence[CardSample]) -> Rows:
    rows: Rows = defaultdict(list)
    for sample in samples:
        rows[sample.key].append(sample)
    return dict(rows)


def row_values(rows: Rows, statistic: Statistic) -> dict[str, float]:
    values = {key: statistic(samples) for key, samples in rows.items()}
    return {key: value for key, value in values.items() if value is not None}


def mean_of(value: Callable[[CardSample], float | None]) -> Statistic:
    def statistic(samples: Sequence[CardSample]) -> float | None:
        values = [number for sample in samples if (number := value(sample)) is not None]
        return fmean(values) if values else None

    return statistic


def rewards_of(samples: Sequence[CardSample]) -> list[float]:
    return [sample.reward for sample in samples if sample.reward is not None]


def pass_at(k: int, pass_above: float) -> Statistic:
    """Unbiased pass@k of a row, 1 - C(n - right, k) / C(n, k) (Chen et al. 2021, eq. 1).

    `right` of n rewards exceed `pass_above`. None if n < k.
    """

    def statistic(samples: Sequence[CardSample]) -> float | None:
        rewards = rewards_of(samples)
        if len(rewards) < k:
            return None
        right = sum(reward > pass_above for reward in rewards)
        return 1 - math.comb(len(rewards) - right, k) / math.comb(len(rewards), k)

    return statistic


def best_at(k: int) -> Statistic:
    """Largest of k rewards, averaged over all choices of k. None with fewer than k rewards."""

    def statistic(samples: Sequence[CardSample]) -> float | None:
        rewards = sorted(rewards_of(samples))
        if len(rewards) < k:
            return None
        weighted = sum(math.comb(place, k - 1) * value for place, value in enumerate(rewards))
        return weighted / math.comb(len(rewards), k)

    return statistic


def sizes(samples: int) -> list[int]:
    """Values of k in pass@k: powers of two below `samples`, and `samples`."""
    powers = [1 << power for power in range(max(0, samples).bit_length()) if 1 << power < samples]
    return [*powers, samples] if samples > 0 else []


def repetition(text: str) -> float:
    words = text.split()
    runs = list(zip(words, words[1:], words[2:], strict=False))
    return 1 - len(set(runs)) / len(runs) if runs else 0.0
