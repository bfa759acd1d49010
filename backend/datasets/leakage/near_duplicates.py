"""Near-duplicate prompts: the Jaccard similarity of their three-word sequences is at least `NEAR`."""

from collections import Counter
from collections.abc import Iterator

WORDS = 3
NEAR = 0.8
COMMON = 20
MOST_SEQUENCES = 1_000_000
"""Maximum number of sequences of all held-out prompts; each takes about 100 bytes."""
MOST_WORDS = 2_000
_LEAST = 4

Sequences = frozenset[int]


def sequences(normalised: str) -> set[int]:
    words = normalised.split(" ", MOST_WORDS)[:MOST_WORDS]
    return set(map(hash, zip(words, words[1:], words[2:], strict=False)))


class NearIndex:
    def __init__(self, prompts: dict[int, set[int]]) -> None:
        thinned = _thinned(prompts)
        frequency = Counter(sequence for hashes in thinned.values() for sequence in hashes)
        self._common = {sequence for sequence, count in frequency.items() if count > COMMON}
        self._sets: dict[int, Sequences] = {}
        self._index: dict[int, list[int]] = {}
        for row, hashes in thinned.items():
            own = frozenset(hashes - self._common)
            if len(own) < _LEAST:
                continue
            self._sets[row] = own
            rarest = sorted(own, key=lambda sequence: (frequency[sequence], sequence))
            for sequence in rarest[: len(own) - _least_shared(len(own)) + 1]:
                self._index.setdefault(sequence, []).append(row)
        self._indexed = set(self._index)

    def __len__(self) -> int:
        return len(self._sets)

    def near(self, hashes: set[int]) -> Iterator[tuple[int, float]]:
        candidates = {row for sequence in hashes & self._indexed for row in self._index[sequence]}
        if not candidates:
            return
        own = hashes - self._common
        for row in candidates:
            candidate = self._sets[row]
            shared = len(own & candidate)
            similarity = shared / (len(own) + len(candidate) - shared)
            if similarity >= NEAR:
                yield row, similarity


def _least_shared(size: int) -> int:
    return -(-size * int(NEAR * 100) // 100)


def _thinned(prompts: dict[int, set[int]]) -> dict[int, set[int]]:
    total = sum(len(hashes) for hashes in prompts.values())
    stride = -(-total // MOST_SEQUENCES)
    return {row: hashes for place, (row, hashes) in enumerate(prompts.items()) if place % max(1, stride) == 0}
