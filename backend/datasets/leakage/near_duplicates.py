"""Prompts that are nearly the same, found among many with bounded memory.

A prompt is the set of its sequences of three words, as hashes. Sequences that more than a few held-out prompts have
(instructions that every prompt begins with) are left out on both sides, so that prompts from one template count as
near only when what tells them apart is the same as well. Two sets are near when they share `NEAR` of their union.

For that they must share one of the rarest few of the held-out set (prefix filtering): only these are indexed.
"""

from collections import Counter
from collections.abc import Iterator

WORDS = 3
NEAR = 0.8
COMMON = 20
"""Held-out prompts that may share a sequence before it counts as part of a template."""
MOST_SEQUENCES = 1_000_000
"""Kept of all held-out prompts together; about 100 bytes each."""
MOST_WORDS = 2_000
"""Looked at of one prompt."""
_LEAST = 4
"""Sequences that a prompt must have: shorter ones are equal or they are not."""

Sequences = frozenset[int]


def sequences(normalised: str) -> set[int]:
    """Hashes of the three-word sequences of a normalised prompt; equal within one process only."""
    words = normalised.split(" ", MOST_WORDS)[:MOST_WORDS]
    return set(map(hash, zip(words, words[1:], words[2:], strict=False)))


class NearIndex:
    """Held-out prompts, to be asked for the one that is nearest to a training prompt."""

    def __init__(self, prompts: dict[int, set[int]]) -> None:
        """`prompts`: row number → `sequences`; thinned out evenly when they are too many."""
        kept = _thinned(prompts)
        frequency = Counter(each for found in kept.values() for each in found)
        self._common = {each for each, count in frequency.items() if count > COMMON}
        self._sets: dict[int, Sequences] = {}
        self._index: dict[int, list[int]] = {}
        for row, found in kept.items():
            own = frozenset(found - self._common)
            if len(own) < _LEAST:
                continue
            self._sets[row] = own
            rarest = sorted(own, key=lambda each: (frequency[each], each))
            for each in rarest[: len(own) - _least_shared(len(own)) + 1]:
                self._index.setdefault(each, []).append(row)
        self._indexed = set(self._index)

    def __len__(self) -> int:
        """Held-out prompts that are compared."""
        return len(self._sets)

    def near(self, found: set[int]) -> Iterator[tuple[int, float]]:
        """(held-out row, similarity) of all that are near to these sequences."""
        candidates = {row for each in found & self._indexed for row in self._index[each]}
        if not candidates:
            return
        own = found - self._common
        for row in candidates:
            other = self._sets[row]
            shared = len(own & other)
            similarity = shared / (len(own) + len(other) - shared)
            if similarity >= NEAR:
                yield row, similarity


def _least_shared(size: int) -> int:
    """Sequences of a set of this size that a near one must have."""
    return -(-size * int(NEAR * 100) // 100)


def _thinned(prompts: dict[int, set[int]]) -> dict[int, set[int]]:
    total = sum(len(found) for found in prompts.values())
    stride = -(-total // MOST_SEQUENCES)
    return {row: found for place, (row, found) in enumerate(prompts.items()) if place % max(1, stride) == 0}
